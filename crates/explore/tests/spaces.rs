//! Spaces with a log, with replicas and with several managers: the explorer passes them, and finds what is built in on purpose.

use quintet_explore::spaces::{Defect, Placement, Spaces};
use quintet_explore::system::{Options, Origin, explore, replay, shrink};

#[test]
fn no_rule_is_broken() {
    for placement in Placement::ALL {
        let report = explore(&Spaces::new(placement), &Options::of(0..150));
        assert!(report.failure.is_none(), "{}: {report}", placement.name());
        assert!(report.answers > 150 * 20, "{}: the schedules are too tame: {report}", placement.name());
        assert!(report.faults > 150, "{}: the schedules are too tame: {report}", placement.name());
    }
}

#[test]
fn every_defect_is_found() {
    for defect in Defect::all() {
        let options = Options::of(0..3_000);
        let started = std::time::Instant::now();
        let report = explore(&Spaces::with_defect(defect), &options);
        eprintln!(
            "{}: {} schedules {:?} {:?}",
            defect.name(),
            report.schedules,
            report.failure.as_ref().map(|f| (&f.rule, &f.text)),
            started.elapsed()
        );
    }
}
