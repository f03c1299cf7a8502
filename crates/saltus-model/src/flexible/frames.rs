//! Directions and triads along the axis of a beam.

use saltus_mechanics::rotation::{cross, dot, from_axes};

/// A point of the axis with the direction of the beam there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Station {
    /// Where it is \[m\].
    pub place: [f64; 3],
    /// Unit tangent of the leg that begins here, at the last point of the one that ends here.
    pub tangent: [f64; 3],
}

/// The stress-free axis of a beam.
pub(super) struct Axis {
    pub stations: Vec<Station>,
    /// Whether the stations are those of one straight leg.
    pub straight: bool,
    /// Whether they are those of an arc.
    pub arc: bool,
}

impl Axis {
    /// Straight legs through `corners`, `elements` shared out by their lengths; `None` where there are fewer
    /// elements than legs.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    pub fn legs(corners: &[[f64; 3]], elements: usize) -> Option<Self> {
        let lengths: Vec<f64> = corners
            .windows(2)
            .map(|w| length(&minus(&w[1], &w[0])))
            .collect();
        let total: f64 = lengths.iter().sum();
        let legs = lengths.len();
        if elements < legs {
            return None;
        }
        // One each; the rest goes where the elements are longest.
        let mut share = vec![1_usize; legs];
        if legs == 1 {
            share[0] = elements;
        } else {
            let spare = (elements - legs) as f64;
            for (share, l) in share.iter_mut().zip(&lengths) {
                *share += (spare * l / total).floor() as usize;
            }
            while share.iter().sum::<usize>() < elements {
                let longest = (0..legs).max_by(|&a, &b| {
                    (lengths[a] / share[a] as f64).total_cmp(&(lengths[b] / share[b] as f64))
                })?;
                share[longest] += 1;
            }
        }
        let mut stations = Vec::with_capacity(elements + 1);
        for (leg, ends) in corners.windows(2).enumerate() {
            let along = minus(&ends[1], &ends[0]);
            let tangent = along.map(|x| x / lengths[leg]);
            for i in 0..share[leg] {
                let s = i as f64 / share[leg] as f64;
                stations.push(Station {
                    place: std::array::from_fn(|c| ends[0][c] + s * along[c]),
                    tangent,
                });
            }
            if leg + 1 == legs {
                stations.push(Station {
                    place: ends[1],
                    tangent,
                });
            }
        }
        Some(Self {
            stations,
            straight: legs == 1,
            arc: false,
        })
    }

    /// The arc of a circle from `from` over `over` to `to`; `None` where they lie on a line.
    #[allow(clippy::cast_precision_loss)]
    pub fn circle(from: [f64; 3], over: [f64; 3], to: [f64; 3], elements: usize) -> Option<Self> {
        let (a, b) = (minus(&over, &from), minus(&to, &from));
        let normal = cross(&a, &b);
        let square = dot(&normal, &normal);
        if square <= 1e-20 * dot(&a, &a) * dot(&b, &b) {
            return None;
        }
        // Centre of the circle through three points, from the first.
        let (aa, bb) = (dot(&a, &a), dot(&b, &b));
        let mixed: [f64; 3] = std::array::from_fn(|c| aa * b[c] - bb * a[c]);
        let to_centre = cross(&mixed, &normal).map(|x| 0.5 * x / square);
        let radius = length(&to_centre);
        let axis = normal.map(|x| x / square.sqrt());
        let first = to_centre.map(|x| -x / radius);
        let second = cross(&axis, &first);
        let last = minus(&b, &to_centre);
        let mut angle = dot(&last, &second).atan2(dot(&last, &first));
        if angle <= 0.0 {
            angle += std::f64::consts::TAU;
        }
        let stations = (0..=elements).map(|i| {
            let (sin, cos) = (angle * i as f64 / elements as f64).sin_cos();
            Station {
                place: std::array::from_fn(|c| {
                    from[c] + to_centre[c] + radius * (cos * first[c] + sin * second[c])
                }),
                tangent: std::array::from_fn(|c| cos * second[c] - sin * first[c]),
            }
        });
        Some(Self {
            stations: stations.collect(),
            straight: false,
            arc: true,
        })
    }
}

/// Direction of section axis 2 across `tangent`: on the side of `towards`, or such that axis 3 lies as near to z
/// as it can; `None` where `towards` lies along the beam.
pub(super) fn second_axis(tangent: &[f64; 3], towards: Option<[f64; 3]>) -> Option<[f64; 3]> {
    let normalised = |x: [f64; 3]| {
        let size = length(&x);
        (size > 1e-6).then(|| x.map(|x| x / size))
    };
    match towards {
        Some(towards) => {
            let size = length(&towards);
            let along = dot(tangent, &towards) / size;
            normalised(std::array::from_fn(|c| {
                towards[c] / size - along * tangent[c]
            }))
        }
        None => Some(normalised(cross(&[0.0, 0.0, 1.0], tangent)).unwrap_or([0.0, 1.0, 0.0])),
    }
}

/// Quaternion of a section whose axis 1 is `tangent` and whose axis 2 is `second`.
pub(super) fn triad(tangent: &[f64; 3], second: &[f64; 3]) -> [f64; 4] {
    from_axes(&[*tangent, *second, cross(tangent, second)])
}

pub(super) fn minus(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|c| a[c] - b[c])
}

pub(super) fn length(x: &[f64; 3]) -> f64 {
    dot(x, x).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arc_passes_through_its_points() {
        // The eighth of a circle of radius 100 in the plane z = 0, tangent to x at its start.
        let at = |angle: f64| [100.0 * angle.sin(), 100.0 * (1.0 - angle.cos()), 0.0];
        let quarter = std::f64::consts::FRAC_PI_4;
        let Some(axis) = Axis::circle(at(0.0), at(0.3 * quarter), at(quarter), 4) else {
            unreachable!("the points are not on a line");
        };
        for (i, station) in axis.stations.iter().enumerate() {
            #[allow(clippy::cast_precision_loss)]
            let angle = quarter * i as f64 / 4.0;
            assert!(length(&minus(&station.place, &at(angle))) < 1e-12);
            let tangent = [angle.cos(), angle.sin(), 0.0];
            assert!(length(&minus(&station.tangent, &tangent)) < 1e-13);
        }
        assert!(Axis::circle(at(0.0), [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], 4).is_none());
    }

    #[test]
    fn legs_share_the_elements_by_length() {
        let corners = [[0.0; 3], [3.0, 0.0, 0.0], [3.0, 1.0, 0.0]];
        let Some(axis) = Axis::legs(&corners, 8) else {
            unreachable!("there are enough elements");
        };
        assert_eq!(axis.stations.len(), 9);
        assert_eq!(axis.stations[6].place, [3.0, 0.0, 0.0]);
        assert_eq!(axis.stations[6].tangent, [0.0, 1.0, 0.0]);
        assert!(Axis::legs(&corners, 1).is_none());
    }
}
