//! Options of all schemes: told in full, bounded alike by schema and code, and what they say about guarantees and stability.

use saltus_integrators::{Coefficients, Entry, PROOF, Scheme};
use serde_json::{Map, Value, json};

/// The largest tolerance that a scheme takes.
const COARSEST: f64 = 5e-2;

/// The options of a scheme in the schema.
fn schema_of(name: &str) -> Map<String, Value> {
    let schema = schemars::schema_for!(Scheme).to_value();
    let variants = schema["oneOf"].as_array().unwrap().iter();
    let mut named = variants.filter(|v| v.pointer("/properties/name/const") == Some(&json!(name)));
    named.next().unwrap()["properties"]
        .as_object()
        .unwrap()
        .clone()
}

fn scheme(options: Value) -> Scheme {
    serde_json::from_value(options).unwrap()
}

#[test]
fn every_option_is_told() {
    for info in Scheme::ALL {
        let options = Scheme::by_name(info.name).unwrap().options();
        let known = schema_of(info.name);
        assert!(known.len() > 2, "{}", info.name);
        for name in known.keys() {
            assert!(options.contains_key(name), "{}: {name}", info.name);
        }
        // What is told is a scheme again, and the same.
        let again = scheme(Value::Object(options.clone()));
        again.validate().unwrap();
        assert_eq!(again.options(), options);
    }
    let told = |options| scheme(options).options();
    let alpha = told(json!({ "name": "nonsmooth-generalized-alpha" }));
    assert_eq!(
        (&alpha["strategy"], &alpha["rho_inf"]),
        (&json!(3), &json!(0.8))
    );
    assert_eq!(alpha["max_impacts"], Value::Null);
    let hht = told(json!({ "name": "generalized-alpha", "preset": "hht" }));
    assert_eq!(
        (&hht["alpha"], &hht["rho_inf"]),
        (&json!(0.1), &Value::Null)
    );
}

/// Bounds that an editor knows from the schema are those that are refused.
#[test]
fn bounds_in_the_schema_are_those_of_the_code() {
    for info in Scheme::ALL {
        for (name, option) in &schema_of(info.name) {
            for (bound, outwards, closed) in [
                ("minimum", -1.0, true),
                ("exclusiveMinimum", -1.0, false),
                ("maximum", 1.0, true),
                ("exclusiveMaximum", 1.0, false),
            ] {
                let Some(limit) = option.get(bound).and_then(Value::as_f64) else {
                    continue;
                };
                let whole = option["type"].to_string().contains("integer");
                let refused = |value: f64| {
                    #[allow(clippy::cast_possible_truncation)]
                    let value = if whole {
                        json!(value as i64)
                    } else {
                        json!(value)
                    };
                    let options = json!({ "name": info.name, name: value });
                    match serde_json::from_value::<Scheme>(options).map(|s| s.validate()) {
                        Ok(Err(error)) => error.option == name,
                        Ok(Ok(())) => false,
                        Err(_) => true,
                    }
                };
                let place = format!("{}: {name} at its {bound}", info.name);
                let step = if whole { 1.0 } else { 1e-6 };
                if refused(limit - outwards * step) {
                    // It belongs to another option that is not set.
                    continue;
                }
                assert_eq!(refused(limit), !closed, "{place}");
                assert!(refused(limit + outwards * step), "beyond {place}");
            }
        }
    }
}

/// By how much free oscillations of many frequencies grow at most from the middle of many steps to their end.
fn growth(c: Coefficients) -> f64 {
    let mut worst = 0.0_f64;
    for k in 0..400 {
        let square = 10.0_f64.powf(-3.0 + 0.03 * f64::from(k));
        let Coefficients {
            alpha_m,
            alpha_f,
            beta,
            gamma,
        } = c;
        // Free oscillation from four starts, long enough for the largest root to win.
        let (mut q, mut v, mut a) = (1.0, 0.3, -0.7 * square);
        let mut size = 0.0_f64;
        let steps = 4000;
        for n in 0..steps {
            let left = 1.0 - alpha_m + square * (1.0 - alpha_f) * beta;
            let smooth = q + v + (0.5 - beta) * a;
            let next = -(alpha_m * a + square * ((1.0 - alpha_f) * smooth + alpha_f * q)) / left;
            q = smooth + beta * next;
            v += (1.0 - gamma) * a + gamma * next;
            a = next;
            let now = q.hypot(v / square.sqrt()).hypot(a / square);
            if n == steps / 2 {
                size = now;
            }
            if now > 1e100 {
                return f64::INFINITY;
            }
            if now < 1e-100 {
                break;
            }
            if n + 1 == steps {
                worst = worst.max(now / size);
            }
        }
    }
    worst
}

#[test]
fn limits_of_stability_are_those_of_free_oscillations() {
    let mut unstable = 0;
    for alpha_m in [-0.4, 0.0, 0.2, 0.4] {
        for alpha_f in [0.0, 0.1, 0.3, 0.45] {
            for gamma in [0.35, 0.45, 0.6, 0.85, 1.1] {
                for beta in [0.15, 0.2, 0.35, 0.6] {
                    let c = Coefficients {
                        alpha_m,
                        alpha_f,
                        beta,
                        gamma,
                    };
                    let told = c.instability().is_some();
                    unstable += u32::from(told);
                    let grows = growth(c) > 1.5;
                    assert_eq!(told, grows, "{c:?}: {:?}", c.instability());
                }
            }
        }
    }
    assert!(unstable > 50);
    for rho in [0.0, 0.5, 0.8, 1.0] {
        assert_eq!(Coefficients::from_rho(rho).instability(), None);
    }
    let options = json!({ "name": "generalized-alpha", "alpha_m": 0.4, "alpha_f": 0.1 });
    let why = scheme(options).instability().unwrap();
    assert!(why.starts_with("gamma = 0.2 is below 1/2"), "{why}");
    for info in Scheme::ALL {
        assert_eq!(Scheme::by_name(info.name).unwrap().instability(), None);
    }
}

fn with_tolerance(name: &str, tolerance: f64) -> Scheme {
    serde_json::from_value(json!({ "name": name, "tolerance": tolerance })).unwrap()
}

#[test]
fn a_tolerance_that_proves_nothing_guarantees_nothing() {
    for info in Scheme::ALL {
        let guarantees = |tolerance| {
            let scheme = with_tolerance(info.name, tolerance).build().unwrap();
            scheme.guarantees()
        };
        let (fine, coarse) = (guarantees(PROOF), guarantees(COARSEST));
        assert_eq!(fine.bound(Entry::Dynamics), Some(PROOF), "{}", info.name);
        assert_eq!(fine.declined(), None);
        for entry in Entry::ALL {
            assert_eq!(coarse.bound(entry), None, "{}: {entry:?}", info.name);
        }
        assert_eq!(coarse.declined(), Some(COARSEST), "{}", info.name);
    }
}

#[test]
fn every_scheme_takes_the_same_tolerances_and_says_so_alike() {
    for info in Scheme::ALL {
        for tolerance in [0.0, -1.0, 0.1, f64::NAN] {
            let mut scheme = with_tolerance(info.name, 1e-9);
            match &mut scheme {
                Scheme::MoreauJean(o) => o.tolerance = tolerance,
                Scheme::GeneralizedAlpha(o) => o.tolerance = tolerance,
                Scheme::NonsmoothGeneralizedAlpha(o) => o.tolerance = tolerance,
                Scheme::NonsmoothNewmark(o) => o.tolerance = tolerance,
                Scheme::NonsmoothHht(o) => o.tolerance = tolerance,
                Scheme::HalfExplicit(o) => o.tolerance = tolerance,
                Scheme::SchatzmanPaoli(o) => o.tolerance = tolerance,
                Scheme::HigherOrder(o) => o.tolerance = tolerance,
                Scheme::AdaptiveMoreauJean(o) => o.tolerance = tolerance,
                Scheme::EventDriven(o) => o.tolerance = tolerance,
                Scheme::MoreauJeanProjected(o) => o.tolerance = tolerance,
                Scheme::Splitting(o) => o.tolerance = tolerance,
                other => panic!("{} is not tested", other.name()),
            }
            assert_eq!(
                scheme.validate().unwrap_err().to_string(),
                format!(
                    "`tolerance` is {tolerance}, expected a number in (0, 0.05]; leave it out for the default"
                )
            );
        }
    }
    for info in Scheme::ALL {
        let tolerance = &schema_of(info.name)["tolerance"];
        assert_eq!(tolerance["exclusiveMinimum"], json!(0.0), "{}", info.name);
        assert_eq!(tolerance["maximum"], json!(COARSEST));
    }
}
