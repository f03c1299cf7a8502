//! Reference motions by integration from event to event: Runge–Kutta of order 4 with tiny steps, impacts and
//! releases bisected, contacts closed once they bounce with less than [`SLOWEST`].

use saltus_complementarity::{Mlcp, MlcpSolver, Tolerance};
use saltus_linear::{Dense, SquareMatrix};
use saltus_system::{ContactSet, Point, Reach, State, System};

/// Approach velocity below which an impact is taken as plastic [m/s].
const SLOWEST: f64 = 1e-8;
/// Gap that counts as closed at an event [m].
const CLOSED: f64 = 1e-9;

/// A state with the contacts that are kept closed from it on.
#[derive(Debug, Clone)]
struct Knot {
    state: State,
    active: Vec<bool>,
}

/// A motion that can be asked at any time.
pub struct Motion<'a> {
    system: &'a dyn System,
    knots: Vec<Knot>,
    /// Instants of the impacts [s].
    pub impacts: Vec<f64>,
}

impl<'a> Motion<'a> {
    /// Integrates `system` (flat coordinates, no bilateral constraints) from `start` to `end` with steps `dt`.
    pub fn new(system: &'a dyn System, start: &State, end: f64, dt: f64) -> Self {
        let mut motion = Self {
            system,
            knots: vec![Knot {
                state: start.clone(),
                active: vec![false; system.contact_count()],
            }],
            impacts: Vec::new(),
        };
        while motion.last().state.t < end - 1e-14 {
            let knot = motion.last().clone();
            let h = dt.min(end - knot.state.t);
            let next = motion.advance(&knot, h);
            if motion.event(&knot, &next).is_none() {
                motion.knots.push(Knot {
                    state: next,
                    active: knot.active,
                });
                continue;
            }
            let (mut a, mut b) = (0.0, h);
            while b - a > 1e-15 {
                let m = 0.5 * (a + b);
                if motion.event(&knot, &motion.advance(&knot, m)).is_some() {
                    b = m;
                } else {
                    a = m;
                }
            }
            let state = motion.advance(&knot, b);
            motion.pass(&knot, state);
        }
        motion
    }

    fn last(&self) -> &Knot {
        &self.knots[self.knots.len() - 1]
    }

    /// The state at time `t`, after an impact there.
    pub fn at(&self, t: f64) -> State {
        let i = self.knots.partition_point(|k| k.state.t <= t).max(1) - 1;
        let knot = &self.knots[i];
        self.advance(knot, t - knot.state.t)
    }

    fn contacts(&self, state: &State) -> ContactSet {
        let mut set = ContactSet::default();
        self.system.detect(state.t, &state.q, Reach::All, &mut set);
        set
    }

    /// A contact that closes or opens between `knot` and `state`.
    fn event(&self, knot: &Knot, state: &State) -> Option<usize> {
        if self.system.contact_count() == 0 {
            return None;
        }
        let set = self.contacts(state);
        let closes = |i: usize| set.gap[i] < 0.0 && set.normal_velocity(i, &state.v) < 0.0;
        let (_, lambda) = self.accelerations(state, &knot.active);
        (0..set.len()).find(|&i| {
            if knot.active[i] {
                lambda[i] < 0.0
            } else {
                closes(i)
            }
        })
    }

    /// Impact, if any, and the contacts that stay closed.
    fn pass(&mut self, knot: &Knot, mut state: State) {
        let set = self.contacts(&state);
        let closed: Vec<usize> = (0..set.len())
            .filter(|&i| knot.active[i] || set.gap[i] < CLOSED)
            .collect();
        let (w, delassus) = self.condensed(&state, &set, &closed);
        let u: Vec<f64> = closed
            .iter()
            .map(|&i| set.normal_velocity(i, &state.v))
            .collect();
        if u.iter()
            .zip(&closed)
            .any(|(u, i)| !knot.active[*i] && *u < 0.0)
        {
            self.impacts.push(state.t);
            let rebound = |(u, i): (&f64, &usize)| {
                let e = if u.abs() < SLOWEST {
                    0.0
                } else {
                    set.law[*i].e_n
                };
                (1.0 + e) * u
            };
            let q: Vec<f64> = u.iter().zip(&closed).map(rebound).collect();
            let p = complementary(&delassus, &q);
            for (p, response) in p.iter().zip(&w) {
                saltus_linear::axpy(*p, response, &mut state.v);
            }
        }
        // Contacts without velocity stay where the force holds them.
        let resting: Vec<usize> = closed
            .into_iter()
            .filter(|&i| set.normal_velocity(i, &state.v).abs() < 1e-11)
            .collect();
        let (w, delassus) = self.condensed(&state, &set, &resting);
        let free = self.accelerations(&state, &vec![false; set.len()]).0;
        let bias = self.bias(&state, &set);
        let q: Vec<f64> = resting
            .iter()
            .map(|&i| set.directions.dot(set.first_row[i], &free) + bias[i])
            .collect();
        let lambda = complementary(&delassus, &q);
        drop(w);
        let mut active = vec![false; set.len()];
        for (l, i) in lambda.iter().zip(&resting) {
            active[*i] = *l > 0.0;
        }
        self.knots.push(Knot { state, active });
    }

    fn bias(&self, state: &State, set: &ContactSet) -> Vec<f64> {
        let mut bias = vec![0.0; set.len()];
        self.system.contact_bias(state.point(), set, &mut bias);
        bias
    }

    fn mass(&self, q: &[f64]) -> SquareMatrix {
        let mut mass = SquareMatrix::new(q.len());
        self.system.mass(q, &mut mass);
        mass.factorise().unwrap();
        mass
    }

    /// `M⁻¹ W` by rows and `Wᵀ M⁻¹ W` of some contacts.
    fn condensed(&self, state: &State, set: &ContactSet, of: &[usize]) -> (Vec<Vec<f64>>, Dense) {
        let mass = self.mass(&state.q);
        let mut delassus = Dense::default();
        delassus.reset(of.len(), of.len());
        let w: Vec<Vec<f64>> = of
            .iter()
            .map(|&i| {
                let mut column = vec![0.0; state.v.len()];
                set.directions.axpy(set.first_row[i], 1.0, &mut column);
                mass.solve(&mut column);
                column
            })
            .collect();
        for (a, &i) in of.iter().enumerate() {
            for b in 0..of.len() {
                delassus[(a, b)] = set.directions.dot(set.first_row[i], &w[b]);
            }
        }
        (w, delassus)
    }

    /// Accelerations with the `active` contacts kept closed, and their forces.
    fn accelerations(&self, state: &State, active: &[bool]) -> (Vec<f64>, Vec<f64>) {
        let mut a = vec![0.0; state.v.len()];
        let at = Point {
            t: state.t,
            q: &state.q,
            v: &state.v,
        };
        self.system.force(at, &mut a);
        self.mass(&state.q).solve(&mut a);
        let mut lambda = vec![0.0; active.len()];
        let of: Vec<usize> = (0..active.len()).filter(|&i| active[i]).collect();
        if !of.is_empty() {
            let set = self.contacts(state);
            let (w, delassus) = self.condensed(state, &set, &of);
            let bias = self.bias(state, &set);
            let q: Vec<f64> = of
                .iter()
                .map(|&i| set.directions.dot(set.first_row[i], &a) + bias[i])
                .collect();
            let mut z = vec![0.0; of.len()];
            let problem = Mlcp {
                equalities: of.len(),
                matrix: &delassus,
                q: &q,
            };
            let outcome = MlcpSolver::default().solve(&problem, &mut z, Tolerance::default());
            assert!(outcome.is_solved());
            for ((z, response), i) in z.iter().zip(&w).zip(&of) {
                saltus_linear::axpy(*z, response, &mut a);
                lambda[*i] = *z;
            }
        }
        (a, lambda)
    }

    /// One Runge–Kutta step of length `h` from `knot`.
    fn advance(&self, knot: &Knot, h: f64) -> State {
        let y = &knot.state;
        let moved = |s: f64, v: &[f64], a: &[f64]| {
            let mut x = y.clone();
            x.t += s;
            saltus_linear::axpy(s, v, &mut x.q);
            saltus_linear::axpy(s, a, &mut x.v);
            x
        };
        let acceleration = |x: &State| self.accelerations(x, &knot.active).0;
        let a1 = acceleration(y);
        let x2 = moved(0.5 * h, &y.v, &a1);
        let a2 = acceleration(&x2);
        let x3 = moved(0.5 * h, &x2.v, &a2);
        let a3 = acceleration(&x3);
        let x4 = moved(h, &x3.v, &a3);
        let a4 = acceleration(&x4);
        let mut end = y.clone();
        end.t += h;
        for i in 0..y.v.len() {
            end.q[i] += h / 6.0 * (y.v[i] + 2.0 * (x2.v[i] + x3.v[i]) + x4.v[i]);
            end.v[i] += h / 6.0 * (a1[i] + 2.0 * (a2[i] + a3[i]) + a4[i]);
        }
        end
    }
}

fn complementary(matrix: &Dense, q: &[f64]) -> Vec<f64> {
    let mut z = vec![0.0; q.len()];
    if q.is_empty() {
        return z;
    }
    let problem = Mlcp {
        equalities: 0,
        matrix,
        q,
    };
    let outcome = MlcpSolver::default().solve(&problem, &mut z, Tolerance::default());
    assert!(outcome.is_solved());
    z
}
