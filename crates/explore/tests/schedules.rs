//! As many schedules as a mutant is tried on that no unit test finds: `.ci/mutants`.

use quintet_explore::{Options, explore};

#[test]
#[ignore = "takes half a minute: `make mutants` runs it on each mutant that no unit test finds"]
fn ten_thousand_schedules_break_no_rule() {
    let report = explore(&Options::of(0..10_000), &mut |_| {});
    assert!(report.failure.is_none(), "{report}");
}
