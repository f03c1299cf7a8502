//! Variations of the strains of a beam in space: relative rotation, mid triad, and the blocks of the tangent.
//!
//! With `F = φ̂`, `t = |φ|`: `δφ = −J_r⁻ᵀδθ₁ + J_r⁻¹δθ₂` with `J_r⁻¹ = I + ½F + ηF²`, and the rotation of the mid triad
//! `δθ_m = Bᵀδθ₁ + Bδθ₂` with `B = ½(I + τF)`, `τ = tan(t/4)/t`; then `δg = Λ_mᵀδd + ĝ δθ_m`.

use crate::rotation::{
    IDENTITY, Matrix3, Scalar, apply, apply_transposed, combine, compose, conjugate, cross, dot,
    hat, log, matrix, polynomial, principal, product, transpose,
};

/// The rotation from the first triad to the second, with `w ≥ 0`.
#[inline]
pub(super) fn relative<D: Scalar>(first: &[D; 4], second: &[D; 4]) -> [D; 4] {
    principal(&compose(&conjugate(first), second))
}

/// Half of a rotation with `w ≥ 0`.
#[inline]
pub(super) fn half<D: Scalar>(p: &[D; 4]) -> [D; 4] {
    let w = p[0] + 1.0;
    let norm = (w * w + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]).sqrt();
    let factor = norm.recip();
    [w * factor, p[1] * factor, p[2] * factor, p[3] * factor]
}

/// Coefficients of the variations, functions of `t`.
struct Coefficients {
    /// η.
    eta: f64,
    /// `η′/t`.
    eta_rate: f64,
    /// τ.
    tau: f64,
    /// `τ′/t`.
    tau_rate: f64,
}

impl Coefficients {
    /// Of the relative quaternion `p` with the rotation vector of square length `square`.
    #[inline]
    fn new(p: &[f64; 4], square: f64) -> Self {
        if square < 0.0025 {
            let x = square;
            return Self {
                eta: 1.0 / 12.0 + x * (1.0 / 720.0 + x * (1.0 / 30_240.0 + x / 1_209_600.0)),
                eta_rate: 1.0 / 360.0 + x * (1.0 / 7560.0 + x / 201_600.0),
                tau: 0.25 + x * (1.0 / 192.0 + x * (1.0 / 7680.0 + x * 17.0 / 5_160_960.0)),
                tau_rate: 1.0 / 96.0 + x * (1.0 / 1920.0 + x * 17.0 / 860_160.0),
            };
        }
        let t = square.sqrt();
        let sine = (p[1] * p[1] + p[2] * p[2] + p[3] * p[3]).sqrt();
        let cotangent = p[0] / sine;
        let eta = (1.0 - 0.5 * t * cotangent) / square;
        let slope = 0.5 * (0.5 * t / (sine * sine) - cotangent);
        let quarter = sine / (1.0 + p[0]);
        let tau = quarter / t;
        Self {
            eta,
            eta_rate: (slope / t - 2.0 * eta) / square,
            tau,
            tau_rate: (0.25 * (1.0 + quarter * quarter) - tau) / square,
        }
    }
}

/// The state of a beam at its Gauss point.
pub(super) struct Point {
    /// φ.
    pub angle: [f64; 3],
    /// `g`.
    pub strain: [f64; 3],
    /// Forces in section axes.
    pub normal: [f64; 3],
    /// Moments in section axes.
    pub moment: [f64; 3],
    coefficients: Coefficients,
    /// `Λ_m`.
    middle: Matrix3,
    rates: Rates,
}

/// Rates of the state, zero unless set.
#[derive(Default)]
struct Rates {
    /// `Λ_mᵀ ḋ`.
    chord: [f64; 3],
    /// Ω of both sections and of the mid triad.
    spins: [[f64; 3]; 2],
    spin: [f64; 3],
}

impl Point {
    /// At the given triads, with `(x₂ − x₁)/L`; the resultants are for the caller to fill in.
    #[inline]
    pub(super) fn new(triads: &[[f64; 4]; 2], chord: [f64; 3]) -> Self {
        let between = relative(&triads[0], &triads[1]);
        let angle = log(&between);
        let middle = matrix(&compose(&triads[0], &half(&between)));
        Self {
            angle,
            strain: apply_transposed(&middle, &chord),
            normal: [0.0; 3],
            moment: [0.0; 3],
            coefficients: Coefficients::new(&between, dot(&angle, &angle)),
            middle,
            rates: Rates::default(),
        }
    }

    /// Force on the second node, moments on the first and on the second section.
    #[inline]
    pub(super) fn resist(
        &self,
        length: f64,
        normal: &[f64; 3],
        moment: &[f64; 3],
    ) -> [[f64; 3]; 3] {
        let Coefficients { eta, tau, .. } = self.coefficients;
        let lever = cross(normal, &self.strain);
        let turned = cross(&self.angle, &lever);
        let once = cross(&self.angle, moment);
        let twice = cross(&self.angle, &once);
        let mut moments = [[0.0; 3]; 2];
        for k in 0..3 {
            let (even, odd) = (0.5 * length * lever[k], 0.5 * length * tau * turned[k]);
            let (constant, linear) = (moment[k] + eta * twice[k], 0.5 * once[k]);
            moments[0][k] = even + odd - constant - linear;
            moments[1][k] = even - odd + constant - linear;
        }
        [apply(&self.middle, normal), moments[0], moments[1]]
    }

    /// Takes in `ḋ` and the angular velocities of both sections; returns `ġ` and `φ̇`.
    #[inline]
    pub(super) fn set_rates(
        &mut self,
        chord: &[f64; 3],
        first: [f64; 3],
        second: [f64; 3],
    ) -> [[f64; 3]; 2] {
        let Coefficients { eta, tau, .. } = self.coefficients;
        let apart: [f64; 3] = std::array::from_fn(|k| second[k] - first[k]);
        let sum: [f64; 3] = std::array::from_fn(|k| second[k] + first[k]);
        let turned = cross(&self.angle, &apart);
        let twice = cross(&self.angle, &turned);
        let linear = cross(&self.angle, &sum);
        let spin = std::array::from_fn(|k| 0.5 * (sum[k] + tau * turned[k]));
        let along = apply_transposed(&self.middle, chord);
        let lift = cross(&self.strain, &spin);
        self.rates = Rates {
            chord: along,
            spins: [first, second],
            spin,
        };
        [
            std::array::from_fn(|k| along[k] + lift[k]),
            std::array::from_fn(|k| apart[k] + 0.5 * linear[k] + eta * twice[k]),
        ]
    }

    /// `B`.
    #[inline]
    fn share(&self) -> Matrix3 {
        polynomial(&self.angle, self.coefficients.tau, 0.0).map(|row| row.map(|x| 0.5 * x))
    }

    /// `J_r⁻¹`.
    #[inline]
    fn inverse_jacobian(&self) -> Matrix3 {
        polynomial(&self.angle, 0.5, self.coefficients.eta)
    }

    /// `B′`: `δB w = B′ δφ`.
    #[inline]
    fn share_rate(&self, w: &[f64; 3]) -> Matrix3 {
        let Coefficients { tau, tau_rate, .. } = self.coefficients;
        let turned = cross(&self.angle, w);
        let hat = hat(w);
        std::array::from_fn(|i| {
            std::array::from_fn(|j| 0.5 * (tau_rate * turned[i] * self.angle[j] - tau * hat[i][j]))
        })
    }

    /// `J′` for `half = −½` and `J″` for `half = ½`: `δJ_r⁻¹ m = J′ δφ`, `δJ_r⁻ᵀ m = J″ δφ`.
    #[inline]
    fn jacobian_rate(&self, m: &[f64; 3], half: f64) -> Matrix3 {
        let Coefficients { eta, eta_rate, .. } = self.coefficients;
        let once = cross(&self.angle, m);
        let twice = cross(&self.angle, &once);
        let along = dot(&self.angle, m);
        let (hat_m, hat_once) = (hat(m), hat(&once));
        std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let unit = if i == j { along } else { 0.0 };
                half * hat_m[i][j]
                    + eta_rate * twice[i] * self.angle[j]
                    + eta * (unit - m[i] * self.angle[j] - hat_once[i][j])
            })
        })
    }
}

/// Rows of `A` times the entries of `d`: `diag(d) A`.
#[inline]
fn scaled_rows(d: &[f64; 3], a: &Matrix3) -> Matrix3 {
    std::array::from_fn(|i| a[i].map(|x| d[i] * x))
}

/// Columns of `A` times the entries of `d`: `A diag(d)`.
#[inline]
fn scaled_columns(a: &Matrix3, d: &[f64; 3]) -> Matrix3 {
    a.map(|row| std::array::from_fn(|j| row[j] * d[j]))
}

/// The tangent in terms of `δx₂ − δx₁`, `δθ_m` and `δφ`.
pub(super) struct Blocks {
    /// Force against chord.
    chord: Matrix3,
    /// Force against mid rotation.
    turn: Matrix3,
    /// Moment of the force against chord, times `L`.
    lever: Matrix3,
    /// The same against mid rotation.
    lever_turn: Matrix3,
    /// First and second moment against relative rotation.
    bend: [Matrix3; 2],
    /// Force against relative rotation; there is none without damping.
    extra: Option<Matrix3>,
}

impl Blocks {
    /// Of the force at the resultants of `point`, with the part of the damping that depends on the configuration.
    #[inline]
    pub(super) fn elastic(
        point: &Point,
        moduli: &[f64; 3],
        bending: &[f64; 3],
        beta: f64,
        length: f64,
    ) -> Self {
        let strain = hat(&point.strain);
        let normal = hat(&point.normal);
        let middle = &point.middle;
        let back = transpose(middle);
        // dN = by_chord Λᵀδd + by_turn δθ_m + by_bend δφ, dM = by_angle δφ.
        let mut by_turn = scaled_rows(moduli, &strain);
        let mut by_angle = scaled_rows(&bending.map(|c| c / length), &IDENTITY);
        let lever = cross(&point.normal, &point.strain);
        let share_rate = point.share_rate(&lever);
        let (jacobian, mut first, mut second);
        let (chord, turn, against, extra);
        if beta > 0.0 {
            let rates = &point.rates;
            let spin = hat(&rates.spin);
            let by_chord = scaled_rows(moduli, &combine(1.0, &IDENTITY, -beta, &spin));
            let drag = combine(1.0, &hat(&rates.chord), -1.0, &product(&spin, &strain));
            by_turn = combine(1.0, &by_turn, beta, &scaled_rows(moduli, &drag));
            let [spin1, spin2] = &rates.spins;
            let apart = std::array::from_fn(|k| spin2[k] - spin1[k]);
            let by_bend = product(&strain, &point.share_rate(&apart));
            let by_bend = scaled_rows(&moduli.map(|c| beta * c), &by_bend);
            let twist = combine(
                1.0,
                &point.jacobian_rate(spin2, -0.5),
                -1.0,
                &point.jacobian_rate(spin1, 0.5),
            );
            let twist = combine(1.0, &IDENTITY, beta, &twist);
            by_angle = product(&by_angle, &twist);
            chord = product(&product(middle, &by_chord), &back);
            turn = product(middle, &combine(1.0, &by_turn, -1.0, &normal));
            let q = combine(1.0, &normal, -1.0, &product(&strain, &by_chord));
            against = product(&q, &back);
            let lever_bend = product(&strain, &by_bend);
            let share = point.share();
            first = combine(length, &share_rate, -length, &product(&share, &lever_bend));
            let back = product(&transpose(&share), &lever_bend);
            second = combine(-length, &share_rate, -length, &back);
            extra = Some(product(middle, &by_bend));
        } else {
            chord = product(&scaled_columns(middle, moduli), &back);
            turn = product(middle, &combine(1.0, &by_turn, -1.0, &normal));
            against = transpose(&turn);
            first = share_rate.map(|row| row.map(|x| length * x));
            second = first.map(|row| row.map(|x| -x));
            extra = None;
        }
        jacobian = point.inverse_jacobian();
        let moved = product(&jacobian, &by_angle);
        let moved_back = product(&transpose(&jacobian), &by_angle);
        let bend1 = combine(1.0, &moved, 1.0, &point.jacobian_rate(&point.moment, -0.5));
        let bend2 = combine(
            1.0,
            &moved_back,
            1.0,
            &point.jacobian_rate(&point.moment, 0.5),
        );
        first = combine(1.0, &first, -1.0, &bend1);
        second = combine(1.0, &second, 1.0, &bend2);
        let geometric = product(&normal, &strain);
        Self {
            chord,
            turn,
            lever: against,
            lever_turn: combine(1.0, &geometric, -1.0, &product(&strain, &by_turn)),
            bend: [first, second],
            extra,
        }
    }

    /// Of the force of the material damping against the velocities.
    #[inline]
    pub(super) fn viscous(
        point: &Point,
        moduli: &[f64; 3],
        bending: &[f64; 3],
        beta: f64,
        length: f64,
    ) -> Self {
        let strain = hat(&point.strain);
        let middle = &point.middle;
        let moduli = moduli.map(|c| beta * c);
        let by_turn = scaled_rows(&moduli, &strain);
        let jacobian = point.inverse_jacobian();
        let per_angle = bending.map(|c| beta * c / length);
        let turn = product(middle, &by_turn);
        Self {
            chord: product(&scaled_columns(middle, &moduli), &transpose(middle)),
            lever: transpose(&turn),
            turn,
            lever_turn: product(&strain, &by_turn).map(|row| row.map(|x| -x)),
            bend: [
                scaled_columns(&jacobian, &per_angle.map(|c| -c)),
                scaled_columns(&transpose(&jacobian), &per_angle),
            ],
            extra: None,
        }
    }

    /// The blocks of the nodal tangent: `[force₂, moment₁, moment₂] × [x₂, θ₁, θ₂]`, in section axes.
    #[inline]
    pub(super) fn spread(&self, point: &Point, length: f64) -> [[Matrix3; 3]; 3] {
        let share = point.share();
        let back = transpose(&share);
        let jacobian = point.inverse_jacobian();
        let jacobian_back = transpose(&jacobian);
        let mut force1 = product(&self.turn, &back);
        let mut force2 = product(&self.turn, &share);
        if let Some(extra) = &self.extra {
            force1 = combine(1.0, &force1, -1.0, &product(extra, &jacobian_back));
            force2 = combine(1.0, &force2, 1.0, &product(extra, &jacobian));
        }
        let row = |left: &Matrix3, bend: &Matrix3| {
            let turned = product(left, &self.lever_turn);
            let first = product(&turned, &back);
            let second = product(&turned, &share);
            [
                product(left, &self.lever),
                combine(length, &first, -1.0, &product(bend, &jacobian_back)),
                combine(length, &second, 1.0, &product(bend, &jacobian)),
            ]
        };
        [
            [
                self.chord.map(|row| row.map(|x| x / length)),
                force1,
                force2,
            ],
            row(&share, &self.bend[0]),
            row(&back, &self.bend[1]),
        ]
    }
}

/// Writes the nodal tangent (12 × 12) in the axes of the nodes; `turns` are the rotations of the sections.
#[inline]
pub(super) fn pack(blocks: &[[Matrix3; 3]; 3], turns: Option<&[Matrix3; 2]>, target: &mut [f64]) {
    let mut blocks = *blocks;
    if let Some(turns) = turns {
        for n in 0..2 {
            let back = transpose(&turns[n]);
            for row in &mut blocks {
                row[n + 1] = product(&row[n + 1], &back);
            }
            for block in &mut blocks[n + 1] {
                *block = product(&turns[n], block);
            }
        }
    }
    // Where rows and columns of the blocks go, and with which sign.
    const PLACES: [(usize, usize, f64); 4] = [(0, 0, -1.0), (3, 1, 1.0), (6, 0, 1.0), (9, 2, 1.0)];
    for (row, i, row_sign) in PLACES {
        for (col, j, col_sign) in PLACES {
            let sign = row_sign * col_sign;
            for k in 0..3 {
                let to = &mut target[(row + k) * 12 + col..][..3];
                for (to, x) in to.iter_mut().zip(&blocks[i][j][k]) {
                    *to = sign * x;
                }
            }
        }
    }
}
