use super::*;

/// Two turns, in the second of which this machine has half of its pace: isochrons take three times as long and carry half as much.
fn live() -> Live {
    let value = |run: &Run, pace: f64| {
        let isochrons = run.way == Way::Safe;
        match run.experiment {
            Experiment::RoundTrip | Experiment::Send => (if isochrons { 60.0 } else { 20.0 }) / pace,
            Experiment::Read => 70.0 / pace,
            Experiment::Cost(sent) if isochrons => (6.0 + f64::from(sent.others)) / pace,
            Experiment::Cost(_) => 2.0 / pace,
            Experiment::ContendedRoundTrip => (if isochrons { 900.0 } else { 300.0 }) / pace,
            Experiment::RoundTripBeside(Others::Rest) => 20.0 / pace,
            Experiment::RoundTripBeside(_) => 40.0 / pace,
            Experiment::Stream | Experiment::Contention => (if isochrons { 50.0 } else { 100.0 }) * pace,
            Experiment::Beside(Others::Rest) => 80.0 * pace,
            Experiment::Beside(Others::Plain) => 60.0 * pace,
            Experiment::Beside(Others::Isochrons) => 40.0 * pace,
        }
    };
    let values = runs(true).into_iter().map(|run| (run, vec![value(&run, 1.0), value(&run, 0.5)]));
    Live { values: values.collect(), machine: Machine { processors: 2, load_before: 0.5, load_after: 1.5 } }
}

#[test]
fn ratios_are_within_turns_and_stand_beside_what_is_printed() {
    let live = live();
    let compared = live.compared();
    let of = |name: &str| compared.iter().find(|compared| compared.name.contains(name)).unwrap();
    let ratio = of("round trip, to plain, 64");
    assert_eq!((ratio.published, ratio.ours.low, ratio.ours.high), (3.5, 3.0, 3.0));
    let share = of("stream, of plain, 1024");
    assert_eq!((share.published, share.ours.low, share.ours.high), (63.0, 50.0, 50.0));
    let loss = of("loss beside tokens, 64");
    assert_eq!((loss.published, loss.ours.low, loss.ours.high), (25.0, 50.0, 50.0));
    let bound = of("isochrons (Isotach 1.0): bound by the send, 64");
    // 44 bytes of data in 60 us and in 120.
    assert!((bound.ours.median - (44.0 * 8.0) * (1.0 / 60.0 + 1.0 / 120.0) / 2.0).abs() < 1e-9, "{bound:?}");
    let findings = live.findings().join("\n");
    assert!(findings.contains("3.00 times as long") && findings.contains("missed and missed"), "{findings}");
    assert!(
        findings.contains("carry 50% with 64 bytes") && findings.contains("and 75% and 75%"),
        "{findings}"
    );
}

#[test]
fn a_turn_has_each_run_once_and_the_quick_one_has_all_that_is_printed() {
    let (all, quick) = (runs(false), runs(true));
    for runs in [&all, &quick] {
        assert!(runs.iter().all(|run| runs.iter().filter(|other| *other == run).count() == 1));
    }
    assert!(quick.iter().all(|run| all.contains(run)) && quick.len() < all.len());
    let live = live();
    assert!(live.compared().iter().all(|compared| compared.ours.median > 0.0), "{live}");
    assert!(live.tables().iter().all(|table| table.rows.len() >= 2), "{live}");
    assert!(!live.to_string().contains("NaN"));
}

#[test]
fn curves_of_which_no_number_is_printed_are_drawn_by_packets() {
    let values = runs(false).into_iter().map(|run| (run, vec![if run.way == Way::Safe { 6.0 } else { 2.0 }]));
    let live = Live { values: values.collect(), ..Live::default() };
    let tables = live.tables();
    let of = |figure| tables.iter().find(|table| table.figure == figure).unwrap();
    let contended = of("5.9");
    assert!(
        contended.rows.iter().all(|row| row.to_plain.is_some_and(|ratio| ratio.median == 3.0)),
        "{contended}"
    );
    let packets = |table: &Table| table.rows.iter().map(|row| row.across).collect::<Vec<_>>();
    for table in [contended, of("5.12"), of("5.13")] {
        assert_eq!(packets(table), [64, 128, 256, 512, 768, 1024], "{table}");
    }
    assert_eq!((of("5.12").unit, of("5.12").columns.len(), of("5.13").unit), ("us", 3, "Mb/s"));
}

#[test]
fn what_sends_take_of_the_processor_stands_beside_what_is_printed_and_a_plain_message() {
    let live = live();
    let costs = live.costs();
    let of = |name: &str, packet| {
        costs.iter().find(|cost| cost.name.contains(name) && cost.packet == packet).unwrap()
    };
    assert_eq!(costs.len(), 2 * (1 + 2 + 3 + 3));
    let printed = |name| [64, 1024].map(|packet| of(name, packet).printed);
    assert_eq!(printed("a plain message"), [Some(3.3), Some(37.5)]);
    assert_eq!(printed("a message, no marker"), [Some(5.2), Some(49.8)]);
    assert_eq!(printed("one to itself"), [Some(9.4), Some(58.2)]);
    assert_eq!(printed("copies elsewhere: 4"), [None, None]);
    let four = of("copies elsewhere: 4", 64);
    assert_eq!((four.ours.low, four.ours.high), (12.5, 17.5), "10 us, and 20 at half the pace");
    assert_eq!((four.to_plain.low, four.to_plain.high), (5.0, 5.0), "in its turn");
    let local = of("purely local", 1024);
    assert_eq!((local.to_plain.median, of("copies with its own: 2", 64).to_plain.median), (3.0, 3.5));
    let (text, page) = (live.to_string(), live.html(&|_, _, _, _| String::new()));
    assert!(
        costs.iter().all(|cost| text.contains(&cost.name) && page.contains(&crate::page::escape(&cost.name)))
    );
    let objects = live.objects();
    assert_eq!(objects.iter().filter(|object| object["cost"].is_string()).count(), costs.len());
    assert!(objects.iter().any(|object| object["sent"] == "a message, no marker" && object["unit"] == "us"));
}
