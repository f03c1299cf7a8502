//! The splitting schemes on a block that comes to rest on two contacts.

use saltus_integrators::{Scheme, SplittingOptions};
use saltus_linear::max_abs;
use saltus_system::State;
use saltus_zoo::RockingBlock;

#[test]
fn a_block_on_two_corners_comes_to_rest_with_contact_forces() {
    for adaptive in [false, true] {
        for restitution in [0.0, 0.3, 0.5, 0.8] {
            for h in [2e-2, 1e-2, 3e-3] {
                let system = RockingBlock {
                    restitution,
                    ..RockingBlock::default()
                };
                let options = SplittingOptions {
                    adaptive,
                    ..SplittingOptions::default()
                };
                let mut scheme = Scheme::Splitting(options).build().unwrap();
                let mut state = State::new(0.0, vec![0.0, 1.0, 0.2], vec![0.0; 3]);
                scheme.prepare(&system, &state, h).unwrap();
                let (mut earlier, mut fastest) = (None, 0.0_f64);
                let until = 6.0;
                while until - state.t > 1e-9 * h {
                    let most = h.min(until - state.t);
                    let end = if adaptive { until } else { state.t + most };
                    scheme.step(&system, &mut state, most, end).unwrap();
                    if state.t >= 5.0 {
                        earlier.get_or_insert(state.q[1]);
                        fastest = fastest.max(max_abs(&state.v));
                    }
                }
                let place = format!("adaptive {adaptive}, e {restitution}, h {h}");
                assert!(fastest < 1e-12, "{place}: {fastest:e}");
                let sunk = earlier.unwrap() - state.q[1];
                assert!(sunk.abs() < 1e-12, "{place}: {sunk:e}");
            }
        }
    }
}
