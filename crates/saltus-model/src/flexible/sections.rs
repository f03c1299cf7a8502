//! Cross sections and materials, as the stiffness and inertia of beams.

use super::Work;
use crate::build::path;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::Quantity;
use saltus_document::document::parts::{Material, Numbers, Section, Stiffness};
use saltus_document::number::general;
use saltus_document::suggest;
use saltus_document::tree::Path;
use saltus_mechanics::flexible::{Damping, PlaneSection, SpaceSection};
use std::f64::consts::PI;
use std::ops::RangeInclusive;

/// Speeds of sound along a bar of any material, from gels to diamond, with room on both sides [m/s].
const WAVE_SPEEDS: RangeInclusive<f64> = 1.0..=3e4;

/// A section in space, which has what one in the plane needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Properties {
    /// Stiffness and inertia; not a number where nothing was given.
    section: SpaceSection,
    pub damping: Damping,
    /// Rotary inertia that the section itself gives.
    pub given_rotary_inertia: Option<f64>,
}

/// A material, evaluated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values {
    pub young: f64,
    pub poisson: Option<f64>,
    pub density: f64,
    pub damping: Damping,
}

/// Area, second moments about the axes 2 and 3, torsion constant.
struct Shape {
    area: f64,
    inertia: [f64; 2],
    torsion: f64,
}

impl Properties {
    pub fn ea(&self) -> f64 {
        self.section.ea
    }

    pub fn ei(&self) -> f64 {
        self.section.ei[1]
    }

    pub fn rho_a(&self) -> f64 {
        self.section.rho_a
    }

    /// In the plane, whose normal is axis 3.
    pub fn plane(&self) -> PlaneSection {
        PlaneSection {
            ea: self.section.ea,
            ga: self.section.ga[0],
            ei: self.section.ei[1],
            rho_a: self.section.rho_a,
            rho_i: self.section.rho_i[2],
        }
    }

    pub fn space(&self) -> SpaceSection {
        self.section
    }
}

impl Work<'_, '_> {
    /// The section and material of a part; `None` where something is wrong, which is reported.
    pub(super) fn properties(
        &mut self,
        section: &str,
        material: Option<&str>,
        at: &Path,
    ) -> Option<Properties> {
        let document = self.document;
        let material = match material {
            Some(name) => Some(self.material_called(name, at)?),
            None => None,
        };
        let Some(found) = document.sections.get(section) else {
            self.unknown("section", section, &document.sections, at);
            return None;
        };
        let place = path(["sections", section]);
        if let Some(stiffness) = &found.stiffness {
            return self.direct(found, stiffness, material, &place);
        }
        let Some(material) = material else {
            let diagnostic = Diagnostic::new(format!("missing key \"material\" in {at}"))
                .label(format!("the section \"{section}\" gives no stiffness"))
                .help("name a material, or give the section a stiffness and a line_density");
            self.findings.at(&at.key("section"), diagnostic);
            return None;
        };
        self.shaped(found, material, &place)
    }

    fn unknown<T>(
        &mut self,
        what: &str,
        name: &str,
        all: &indexmap::IndexMap<String, T>,
        at: &Path,
    ) {
        let known = || all.keys().map(String::as_str);
        let message = format!(
            "unknown {what} \"{name}\"{}",
            suggest::did_you_mean(name, known())
        );
        let help = if all.is_empty() {
            format!("there is no [{what}s.{name}]")
        } else {
            format!("the {what}s are {}", suggest::list(known()))
        };
        let diagnostic = Diagnostic::new(message)
            .label(format!("no such {what}"))
            .help(help);
        self.findings.at(&at.key(what), diagnostic);
    }

    /// The material that the part at `at` names.
    pub(super) fn material_called(&mut self, name: &str, at: &Path) -> Option<Values> {
        let materials = &self.document.materials;
        match materials.get(name) {
            Some(found) => self.material(found, &path(["materials", name])),
            None => {
                self.unknown("material", name, materials, at);
                None
            }
        }
    }

    fn material(&mut self, material: &Material, at: &Path) -> Option<Values> {
        let young = self.positive(&material.young, &at.key("young"));
        let density = self.positive(&material.density, &at.key("density"));
        let poisson = match &material.poisson {
            Some(nu) => Some(self.number(
                nu,
                &at.key("poisson"),
                |nu| nu > -1.0 && nu < 0.5,
                "a number above -1 and below 1/2",
            )?),
            None => None,
        };
        if let (Some(young), Some(density)) = (young, density) {
            self.note_wave_speed(young, density, at);
        }
        let beta = self.not_negative(material.damping.as_ref(), &at.key("damping"));
        let alpha = self.not_negative(material.mass_damping.as_ref(), &at.key("mass_damping"));
        Some(Values {
            young: young?,
            poisson,
            density: density?,
            damping: Damping {
                alpha: alpha?,
                beta: beta?,
            },
        })
    }

    /// Says so where sound would travel as in no material: a modulus in GPa or MPa, a density in g/cm³ or t/mm³.
    fn note_wave_speed(&mut self, young: f64, density: f64, at: &Path) {
        let speed = (young / density).sqrt();
        if WAVE_SPEEDS.contains(&speed) {
            return;
        }
        let note = format!(
            "sound would travel at {} m/s along a bar of `{at}`, as in no material: `young` is in Pa (steel 210e9), `density` in kg/m³ (steel 7850)",
            general(speed)
        );
        // A material that several parts name is read again for each.
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// A section that says its stiffness.
    fn direct(
        &mut self,
        section: &Section,
        stiffness: &Stiffness,
        material: Option<Values>,
        at: &Path,
    ) -> Option<Properties> {
        let others = [
            ("area", section.area.is_some()),
            ("inertia", section.inertia.is_some()),
            ("torsion", section.torsion.is_some()),
            ("shear", section.shear.is_some()),
            ("circle", section.circle.is_some()),
            ("rectangle", section.rectangle.is_some()),
        ];
        if let Some((key, _)) = others.iter().find(|(_, given)| *given) {
            self.twice(at, key, "stiffness");
            return None;
        }
        let Some(line_density) = &section.line_density else {
            let diagnostic = Diagnostic::new(format!("missing key \"line_density\" in {at}"))
                .label("needs \"line_density\": the mass per length [kg/m]");
            self.findings.at(&at.key("stiffness"), diagnostic);
            return None;
        };
        let inside = at.key("stiffness");
        let rho_a = self.positive(line_density, &at.key("line_density"))?;
        let ea = self.positive(&stiffness.axial, &inside.key("axial"))?;
        let ga = self.pair(stiffness.shear.as_ref(), &inside.key("shear"))?;
        let ei = self.pair(stiffness.bending.as_ref(), &inside.key("bending"))?;
        let gj = match &stiffness.torsion {
            Some(torsion) => self.positive(torsion, &inside.key("torsion"))?,
            None => f64::NAN,
        };
        let rho_i = match &section.rotary_inertia {
            Some(numbers) => {
                let values = self.numbers(numbers.as_slice(), &at.key("rotary_inertia"))?;
                match values.as_slice() {
                    [one] => [*one; 3],
                    [polar, second, third] => [*polar, *second, *third],
                    _ => {
                        self.wrong_count(&at.key("rotary_inertia"), values.len(), "one or three");
                        return None;
                    }
                }
            }
            None => [0.0; 3],
        };
        Some(Properties {
            section: SpaceSection {
                ea,
                ga,
                gj,
                ei,
                rho_a,
                rho_i,
            },
            damping: material.map_or(Damping::NONE, |m| m.damping),
            given_rotary_inertia: section.rotary_inertia.as_ref().map(|_| rho_i[2]),
        })
    }

    /// A section of a shape and a material.
    fn shaped(&mut self, section: &Section, material: Values, at: &Path) -> Option<Properties> {
        let shape = self.shape(section, at)?;
        let Values {
            young,
            poisson,
            density,
            damping,
        } = material;
        let nu = poisson.unwrap_or(f64::NAN);
        let shear = match (&section.shear, &section.circle) {
            (Some(shear), _) => self.positive(shear, &at.key("shear"))?,
            // Cowper 1966.
            (None, Some(_)) => 6.0 * (1.0 + nu) / (7.0 + 6.0 * nu),
            (None, None) => 5.0 / 6.0,
        };
        let modulus = 0.5 * young / (1.0 + nu);
        let [second, third] = shape.inertia;
        Some(Properties {
            section: SpaceSection {
                ea: young * shape.area,
                ga: [shear * modulus * shape.area; 2],
                gj: modulus * shape.torsion,
                ei: [young * second, young * third],
                rho_a: density * shape.area,
                rho_i: [
                    density * (second + third),
                    density * second,
                    density * third,
                ],
            },
            damping,
            given_rotary_inertia: None,
        })
    }

    fn shape(&mut self, section: &Section, at: &Path) -> Option<Shape> {
        let given = [
            ("area", section.area.is_some()),
            ("circle", section.circle.is_some()),
            ("rectangle", section.rectangle.is_some()),
        ];
        let mut given = given
            .iter()
            .filter(|(_, given)| *given)
            .map(|(key, _)| *key);
        match (given.next(), given.next()) {
            (Some(first), Some(second)) => {
                self.twice(at, second, first);
                return None;
            }
            (None, _) => {
                let diagnostic = Diagnostic::new(format!("{at} has no shape"))
                    .label("the section is not given")
                    .help("give area and inertia, circle = { radius = .. }, rectangle = { width = .., height = .. }, or stiffness = { .. }");
                self.findings.at(at, diagnostic);
                return None;
            }
            _ => {}
        }
        let mut shape = if let Some(circle) = &section.circle {
            let r = self.positive(&circle.radius, &at.key("circle").key("radius"))?;
            let inertia = 0.25 * PI * r.powi(4);
            Shape {
                area: PI * r * r,
                inertia: [inertia; 2],
                torsion: 2.0 * inertia,
            }
        } else if let Some(rectangle) = &section.rectangle {
            let inside = at.key("rectangle");
            let width = self.positive(&rectangle.width, &inside.key("width"))?;
            let height = self.positive(&rectangle.height, &inside.key("height"))?;
            Shape {
                area: width * height,
                inertia: [height * width.powi(3) / 12.0, width * height.powi(3) / 12.0],
                torsion: rectangle_torsion(width, height),
            }
        } else {
            let area = section.area.as_ref()?;
            let inertia = self.pair(section.inertia.as_ref(), &at.key("inertia"))?;
            Shape {
                area: self.positive(area, &at.key("area"))?,
                inertia,
                torsion: inertia[0] + inertia[1],
            }
        };
        if section.inertia.is_some() && section.area.is_none() {
            self.twice(at, "inertia", "the shape");
            return None;
        }
        if let Some(torsion) = &section.torsion {
            shape.torsion = self.positive(torsion, &at.key("torsion"))?;
        }
        Some(shape)
    }

    fn twice(&mut self, at: &Path, key: &str, other: &str) {
        let diagnostic = Diagnostic::new(format!(
            "{at} is given twice: by \"{other}\" and by \"{key}\""
        ))
        .label(format!("\"{other}\" is given too"))
        .help("remove one of the two");
        self.findings.at(&at.key(key), diagnostic);
    }

    /// One number for both axes, or one each; not a number where nothing is given.
    fn pair(&mut self, numbers: Option<&Numbers>, at: &Path) -> Option<[f64; 2]> {
        let Some(numbers) = numbers else {
            return Some([f64::NAN; 2]);
        };
        let mut values = Vec::new();
        for (k, quantity) in numbers.as_slice().iter().enumerate() {
            let place = match numbers {
                Numbers::One(_) => at.clone(),
                Numbers::Several(_) => at.index(k),
            };
            values.push(self.positive(quantity, &place)?);
        }
        match values.as_slice() {
            [one] => Some([*one; 2]),
            [second, third] => Some([*second, *third]),
            _ => {
                self.wrong_count(at, values.len(), "one or two");
                None
            }
        }
    }

    pub(super) fn positive(&mut self, quantity: &Quantity, at: &Path) -> Option<f64> {
        self.number(quantity, at, |x| x > 0.0, "a number > 0")
    }

    /// 0 where nothing is given.
    pub(super) fn not_negative(&mut self, quantity: Option<&Quantity>, at: &Path) -> Option<f64> {
        match quantity {
            Some(quantity) => self.number(quantity, at, |x| x >= 0.0, "a number ≥ 0"),
            None => Some(0.0),
        }
    }
}

/// Torsion constant of a rectangle \[m⁴\] (Saint-Venant 1855; Timoshenko and Goodier 1970, §109).
fn rectangle_torsion(width: f64, height: f64) -> f64 {
    let (long, short) = (width.max(height), width.min(height));
    let ratio = long / short;
    let sum: f64 = (0..20)
        .map(|k| {
            let n = f64::from(2 * k + 1);
            (0.5 * n * PI * ratio).tanh() / n.powi(5)
        })
        .sum();
    long * short.powi(3) / 3.0 * (1.0 - 192.0 / PI.powi(5) / ratio * sum)
}

#[cfg(test)]
mod tests {
    use super::rectangle_torsion;

    #[test]
    fn a_square_has_the_torsion_of_the_tables() {
        // Timoshenko and Goodier 1970, table of §109: 0.1406, 0.229, 0.313 for the ratios 1, 2, 10.
        for (ratio, factor) in [(1.0, 0.140_577), (2.0, 0.228_7), (10.0, 0.312_3)] {
            let ours = rectangle_torsion(ratio, 1.0) / ratio;
            assert!((ours - factor).abs() < 1e-4, "{ratio}: {ours}");
        }
    }
}
