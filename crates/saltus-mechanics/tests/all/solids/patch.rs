//! A field that every element can represent is found to round-off, whatever the mesh.

use super::body::{Body, Spec, cell, is_mean, law};
use crate::support::{flat, records};
use saltus_mechanics::flexible::Mesh;
use saltus_mechanics::flexible::solid::Law;

#[test]
fn patches_of_distorted_elements_keep_a_uniform_gradient() {
    let Some(records) = records() else { return };
    let mut count = 0;
    let ids: Vec<&str> = records
        .ids()
        .filter(|id| id.starts_with("solid.patch."))
        .collect();
    for id in &ids {
        let record = records.get(id);
        let p = &record["parameters"];
        let kind = cell(id.rsplit('.').next().unwrap());
        let d = kind.dimension();
        let places: Vec<Vec<f64>> = p["X"].as_array().unwrap().iter().map(flat).collect();
        let mut mesh = Mesh::new(
            places
                .iter()
                .map(|x| [x[0], x[1], x.get(2).copied().unwrap_or(0.0)])
                .collect(),
        );
        for nodes in p["con"].as_array().unwrap() {
            let nodes: Vec<usize> = flat(nodes).iter().map(|&n| n as usize).collect();
            mesh.push(kind, &nodes).unwrap();
        }
        let boundary = p["boundary_nodes"].as_u64().unwrap() as usize;
        for case in record["value"].as_object().unwrap().keys() {
            let (law_name, integration) = case.split_once('/').unwrap();
            if integration == "reduced" {
                println!("{id} {case}: not offered");
                continue;
            }
            let spec = Spec {
                mean: is_mean(integration),
                ..Spec::new(
                    law(law_name),
                    p["E"].as_f64().unwrap(),
                    p["nu"].as_f64().unwrap(),
                )
            };
            let linear = spec.law == Law::Linear;
            let g = flat(&p[if linear { "G_linear" } else { "G_finite" }]);
            let mut body = Body::new(&mesh, kind, &spec);
            let target: Vec<f64> = body
                .reference
                .chunks(d)
                .flat_map(|x| {
                    (0..d)
                        .map(|i| x[i] + (0..d).map(|j| g[i * d + j] * x[j]).sum::<f64>())
                        .collect::<Vec<f64>>()
                })
                .collect();
            body.given[..boundary * d].fill(true);
            body.q[..boundary * d].copy_from_slice(&target[..boundary * d]);
            let solves = body.equilibrium(&vec![0.0; target.len()], false);
            let error = body
                .q
                .iter()
                .zip(&target)
                .fold(0.0_f64, |m, (q, t)| m.max((q - t).abs()));
            println!("{id} {case}: {error:.1e} after {solves} solves");
            assert!(error < 1e-12, "{id} {case}: {error:e}");
            records.bound(id, &[error]);
            count += 1;
        }
    }
    println!("solid.patch: {} records, {count} cases", ids.len());
    assert!(count >= 15);
}
