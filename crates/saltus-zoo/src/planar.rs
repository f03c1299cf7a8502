//! A rigid body in the plane under gravity: centre of mass `x, y` and angle `θ`.

/// Implements [`Kinematics`](saltus_system::Kinematics) with `$ng` constraints and [`Dynamics`](saltus_system::Dynamics) from the
/// fields `mass`, `inertia` and `gravity`.
macro_rules! planar_body {
    ($body:ty, ng: $ng:literal, linear_constraints: $constraints:literal, linear_contacts: $contacts:literal) => {
        impl saltus_system::Kinematics for $body {
            fn dims(&self) -> saltus_system::Dims {
                saltus_system::Dims {
                    nq: 3,
                    nv: 3,
                    ng: $ng,
                }
            }
        }

        impl saltus_system::Dynamics for $body {
            fn structure(&self) -> saltus_system::Structure {
                saltus_system::Structure {
                    mass: saltus_system::MassKind::Constant,
                    force: saltus_system::ForceKind::Affine,
                    linear_constraints: $constraints,
                    linear_contacts: $contacts,
                }
            }

            fn mass(&self, _: &[f64], mass: &mut dyn saltus_system::MatrixSink) {
                mass.entry(0, 0, self.mass);
                mass.entry(1, 1, self.mass);
                mass.entry(2, 2, self.inertia);
            }

            fn force(&self, _: saltus_system::Point<'_>, force: &mut [f64]) {
                force.copy_from_slice(&[0.0, -self.mass * self.gravity, 0.0]);
            }

            fn potential_energy(&self, _: f64, q: &[f64]) -> f64 {
                self.mass * self.gravity * q[1]
            }

            fn active_force(&self, _: saltus_system::Point<'_>, active: &mut [f64]) {
                active.fill(0.0);
            }
        }
    };
}

pub(crate) use planar_body;
