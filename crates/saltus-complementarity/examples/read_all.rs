//! Reads every problem in a directory and says what it is.
use saltus_complementarity::archive::{Problem, read};
fn main() {
    for arg in std::env::args().skip(1) {
        match read(arg.as_ref()) {
            Ok(Problem::Mixed { q, .. }) => println!("{arg}: lcp {}", q.len()),
            Ok(Problem::Friction(p)) => println!(
                "{arg}: {}D {} contacts, {} blocks, asym {:.1e}",
                p.dimension(),
                p.contacts(),
                p.delassus().stored(),
                p.delassus().asymmetry()
            ),
            Ok(Problem::Global(p)) => println!(
                "{arg}: global {}D {} contacts n={} | {:?}",
                p.dimension(),
                p.contacts(),
                p.force().len(),
                p.reduce().map(|p| p.delassus().stored())
            ),
            Err(e) => println!("FAILED {e}"),
            _ => {}
        }
    }
}
