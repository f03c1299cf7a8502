//! Rigid scenes as they come up in one time step: stacks, walls, chains, wedges, leaning rods and piles of boxes, in the plane
//! and in space; at rest, sliding or in an impact. A seed means the same scene everywhere, and every one
//! has a solution: the obstacles rest, and all components rebound by the same factor (Klarbring & Pang, *SIAM J. Optim.* 8 (1998)).

use super::Random;
use saltus_complementarity::BlockMatrix;
use saltus_complementarity::friction::FrictionContact;

type Vector = [f64; 3];

/// A box whose axes are those of space: half its edges, place of its centre (m), mass (kg), velocity before (m/s, rad/s).
#[derive(Clone)]
struct Body {
    half: Vector,
    centre: Vector,
    mass: f64,
    velocity: Vector,
    spin: Vector,
}

/// `normal` points from the other body, or the ground, into `body`.
struct Contact {
    point: Vector,
    normal: Vector,
    body: usize,
    other: Option<usize>,
}

struct Scene {
    spatial: bool,
    bodies: Vec<Body>,
    contacts: Vec<Contact>,
}

fn cross(a: Vector, b: Vector) -> Vector {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn inner(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

impl Body {
    fn arm(&self, point: Vector) -> Vector {
        std::array::from_fn(|k| point[k] - self.centre[k])
    }

    /// `a' I⁻¹ b` of two angular impulses.
    fn turned(&self, a: Vector, b: Vector) -> f64 {
        let h = self.half.map(|v| v * v);
        let inertia = [h[1] + h[2], h[0] + h[2], h[0] + h[1]];
        (0..3)
            .map(|k| a[k] * b[k] / (self.mass * inertia[k] / 3.0))
            .sum()
    }
}

impl Scene {
    fn add(&mut self, half: Vector, centre: Vector) -> usize {
        self.bodies.push(Body {
            half,
            centre,
            mass: 8.0 * half[0] * half[1] * half[2],
            velocity: [0.0; 3],
            spin: [0.0; 3],
        });
        self.bodies.len() - 1
    }

    /// Contact of two faces across `axis`: the corners of their overlap. The ground is one large face.
    fn faces(&mut self, body: usize, other: Option<usize>, axis: usize) {
        let b = self.bodies[body].clone();
        let range = |k: usize| {
            let (mut low, mut high) = (b.centre[k] - b.half[k], b.centre[k] + b.half[k]);
            if let Some(o) = other {
                let o = &self.bodies[o];
                low = low.max(o.centre[k] - o.half[k]);
                high = high.min(o.centre[k] + o.half[k]);
            }
            (low, high)
        };
        let mut normal = [0.0; 3];
        normal[axis] = 1.0;
        let (first, second) = (if axis == 0 { 2 } else { 0 }, 1);
        let (a, c) = (range(first), range(second));
        if a.0 >= a.1 || c.0 >= c.1 {
            return;
        }
        for end in [a.0, a.1] {
            let across = if self.spatial {
                vec![c.0, c.1]
            } else {
                vec![b.centre[1]]
            };
            for side in across {
                let mut point = b.centre;
                point[axis] -= b.half[axis];
                point[first] = end;
                point[second] = side;
                self.contacts.push(Contact {
                    point,
                    normal,
                    body,
                    other,
                });
            }
        }
    }

    fn stack(&mut self, random: &mut Random, count: usize) {
        let (mut top, mut below) = (0.0, None);
        let mut x = 0.0;
        for _ in 0..count {
            let half = [
                0.2 + 0.5 * random.unit(),
                0.2 + 0.5 * random.unit(),
                0.1 + 0.4 * random.unit(),
            ];
            x += 0.2 * random.signed();
            let y = 0.1 * random.signed();
            let body = self.add(half, [x, y, top + half[2]]);
            self.faces(body, below, 2);
            (top, below) = (top + 2.0 * half[2], Some(body));
        }
    }

    fn wall(&mut self, random: &mut Random, rows: usize, columns: usize, sides: bool) {
        let half = [0.5, 0.25, 0.25 + 0.1 * random.unit()];
        let mut below: Vec<usize> = Vec::new();
        for row in 0..rows {
            let mut line = Vec::new();
            for column in 0..columns {
                let shift = if row % 2 == 1 { 0.5 } else { 0.0 };
                let centre = [column as f64 + shift, 0.0, (2 * row + 1) as f64 * half[2]];
                let body = self.add(half, centre);
                if row == 0 {
                    self.faces(body, None, 2);
                }
                for &other in &below {
                    self.faces(body, Some(other), 2);
                }
                if let Some(&other) = line.last().filter(|_| sides) {
                    self.faces(body, Some(other), 0);
                }
                line.push(body);
            }
            below = line;
        }
    }

    fn chain(&mut self, random: &mut Random, count: usize) {
        let mut before = None;
        let mut x = 0.0;
        for _ in 0..count {
            let half = [0.1 + 0.4 * random.unit(), 0.3, 0.1 + 0.4 * random.unit()];
            let body = self.add(half, [x + half[0], 0.0, half[2]]);
            self.faces(body, None, 2);
            if before.is_some() {
                self.faces(body, before, 0);
            }
            (x, before) = (x + 2.0 * half[0], Some(body));
        }
    }

    /// A box in a notch of two slopes, others on it.
    fn wedge(&mut self, random: &mut Random, above: usize) {
        let body = self.add([0.5, 0.5, 0.3], [0.0, 0.0, 0.3]);
        for side in [-1.0, 1.0] {
            let (s, c) = (0.1 + 1.3 * random.unit()).sin_cos();
            let depths = if self.spatial {
                vec![-0.5, 0.5]
            } else {
                vec![0.0]
            };
            for depth in depths {
                for height in [0.0, 0.2 + 0.3 * random.unit()] {
                    self.contacts.push(Contact {
                        point: [0.5 * side, depth, height],
                        normal: [-side * s, 0.0, c],
                        body,
                        other: None,
                    });
                }
            }
        }
        let (mut top, mut below) = (0.6, body);
        for _ in 0..above {
            let body = self.add([0.4, 0.4, 0.2], [0.2 * random.signed(), 0.0, top + 0.2]);
            self.faces(body, Some(below), 2);
            (top, below) = (top + 0.4, body);
        }
    }

    /// Rods that lean on a wall, one over the other.
    fn rods(&mut self, random: &mut Random, count: usize) {
        let mut before: Option<usize> = None;
        for _ in 0..count {
            let angle = 0.2 + 1.1 * random.unit();
            let (s, c) = angle.sin_cos();
            let body = self.add([0.5, 0.05, 0.05], [0.5 * c, 0.0, 0.5 * s]);
            for (point, normal) in [
                ([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
                ([c, 0.0, s], [-1.0, 0.0, 0.0]),
            ] {
                self.contacts.push(Contact {
                    point,
                    normal,
                    body,
                    other: None,
                });
            }
            if before.is_some() {
                let share = random.unit();
                self.contacts.push(Contact {
                    point: [share * c, 0.0, share * s],
                    normal: [-s, 0.0, c],
                    body,
                    other: before,
                });
            }
            before = Some(body);
        }
    }

    /// Boxes that touch earlier ones, or the ground, at corners with normals in all upward directions.
    fn pile(&mut self, random: &mut Random, count: usize) {
        for k in 0..count {
            let half = std::array::from_fn(|_| 0.1 + 0.4 * random.unit());
            let centre = [random.signed(), random.signed(), 0.5 * k as f64];
            let body = self.add(half, centre);
            for _ in 0..1 + random.below(4) {
                let other = (k > 0 && random.below(3) > 0).then(|| random.below(k));
                let mut normal = [
                    random.signed(),
                    if self.spatial { random.signed() } else { 0.0 },
                    0.3 + random.unit(),
                ];
                let length = inner(normal, normal).sqrt();
                normal.iter_mut().for_each(|v| *v /= length);
                let mut point: Vector =
                    std::array::from_fn(|i| centre[i] + half[i] * random.signed());
                point[2] = centre[2] - half[2];
                if !self.spatial {
                    point[1] = centre[1];
                }
                self.contacts.push(Contact {
                    point,
                    normal,
                    body,
                    other,
                });
            }
        }
    }

    fn masses(&mut self, random: &mut Random) {
        let decades = [0.0, 0.0, 1.0, 3.0][random.below(4)];
        for body in &mut self.bodies {
            body.mass *= 10.0_f64.powf(decades * random.signed());
        }
    }

    fn velocities(&mut self, random: &mut Random) {
        let motion = random.below(3);
        let common = random.signed();
        let spatial = if self.spatial { 1.0 } else { 0.0 };
        for body in &mut self.bodies {
            match motion {
                0 => {}
                1 => body.velocity = [common + 0.2 * random.signed(), 0.3 * common * spatial, 0.0],
                _ => {
                    body.velocity = std::array::from_fn(|_| random.signed());
                    body.velocity[2] -= 0.5;
                    body.velocity[1] *= spatial;
                    body.spin = [
                        spatial * random.signed(),
                        random.signed(),
                        spatial * random.signed(),
                    ];
                }
            }
        }
    }

    /// Directions of contact `i`: the normal and as many tangents as there are.
    fn frame(&self, i: usize) -> Vec<Vector> {
        let n = self.contacts[i].normal;
        let t = if self.spatial {
            let axis = if n[0].abs() < 0.8 {
                [1.0, 0.0, 0.0]
            } else {
                [0.0, 0.0, 1.0]
            };
            let across = cross(n, axis);
            let length = inner(across, across).sqrt();
            across.map(|v| v / length)
        } else {
            [n[2], 0.0, -n[0]]
        };
        if self.spatial {
            vec![n, t, cross(n, t)]
        } else {
            vec![n, t]
        }
    }

    fn problem(&self, random: &mut Random) -> FrictionContact {
        let (d, n) = (if self.spatial { 3 } else { 2 }, self.contacts.len());
        let frames: Vec<Vec<Vector>> = (0..n).map(|i| self.frame(i)).collect();
        let ends = |i: usize| {
            let c = &self.contacts[i];
            std::iter::once((c.body, 1.0)).chain(c.other.map(|o| (o, -1.0)))
        };
        let mut touching = vec![Vec::new(); self.bodies.len()];
        for i in 0..n {
            ends(i).for_each(|(b, s)| touching[b].push((i, s)));
        }
        let mut entries = Vec::new();
        for (body, touching) in self.bodies.iter().zip(&touching) {
            for &(i, s) in touching {
                for &(j, t) in touching {
                    let arms = [i, j].map(|k| body.arm(self.contacts[k].point));
                    for (a, &e) in frames[i].iter().enumerate() {
                        for (b, &f) in frames[j].iter().enumerate() {
                            let turned = body.turned(cross(arms[0], e), cross(arms[1], f));
                            let value = s * t * (inner(e, f) / body.mass + turned);
                            entries.push((d * i + a, d * j + b, value));
                        }
                    }
                }
            }
        }
        let restitution = [0.0, 0.0, 0.5, 1.0][random.below(4)];
        let step = [1e-3, 1e-2][random.below(2)];
        let mut q = Vec::with_capacity(d * n);
        for (i, frame) in frames.iter().enumerate() {
            for &e in frame {
                let (mut before, mut free) = (0.0, 0.0);
                for (b, s) in ends(i) {
                    let body = &self.bodies[b];
                    let turning = cross(body.spin, body.arm(self.contacts[i].point));
                    before += s * (inner(body.velocity, e) + inner(turning, e));
                    free += s * -9.81 * step * e[2];
                }
                q.push((1.0 + restitution) * before + free);
            }
        }
        let common = [0.0, 0.1, 0.3, 0.6, 1.0, 2.0][random.below(6)];
        let same = random.below(2) == 0;
        let mu = (0..n)
            .map(|_| if same { common } else { random.unit() })
            .collect();
        let w = BlockMatrix::from_triplets(d, n, entries);
        FrictionContact::new(w, q, mu, Vec::new()).unwrap()
    }
}

/// The scene of `seed`: its kind and its problem.
pub fn scene(seed: u64) -> (&'static str, FrictionContact) {
    let random = &mut Random::new(seed);
    random.bits();
    let mut scene = Scene {
        spatial: random.below(2) == 0,
        bodies: Vec::new(),
        contacts: Vec::new(),
    };
    let kind = ["stack", "wall", "chain", "wedge", "rods", "pile"][random.below(6)];
    let few = 1 + random.below(6);
    match kind {
        "stack" => scene.stack(random, few),
        "wall" => {
            let (rows, columns) = (1 + random.below(4), 1 + random.below(4));
            let sides = random.below(2) == 0;
            scene.wall(random, rows, columns, sides);
        }
        "chain" => scene.chain(random, 2 * few),
        "wedge" => scene.wedge(random, few - 1),
        "rods" => scene.rods(random, few),
        _ => scene.pile(random, 2 * few),
    }
    scene.masses(random);
    scene.velocities(random);
    (kind, scene.problem(random))
}

/// A wall of bricks, `rows × columns`, that rests or slides; in space.
pub fn wall(rows: usize, columns: usize, sliding: bool) -> FrictionContact {
    let random = &mut Random::new(11);
    let mut scene = Scene {
        spatial: true,
        bodies: Vec::new(),
        contacts: Vec::new(),
    };
    scene.wall(random, rows, columns, true);
    for body in &mut scene.bodies {
        body.velocity[0] = if sliding {
            1.0 + 0.1 * random.signed()
        } else {
            0.0
        };
    }
    scene.problem(random)
}
