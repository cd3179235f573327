//! The study of Isotach 1.0, its short form: what would be another if a protocol or the model were.

use quintet_reproduce::Role;
use quintet_reproduce::isotach_1_0::{Figure, Simulated, Way};
use std::sync::LazyLock;

static ALL: LazyLock<Simulated> = LazyLock::new(|| Simulated::run(true, 1));

fn figure(number: &str) -> &'static Figure {
    ALL.figure(number).expect("the study has it")
}

fn value(number: &str, line: &str, across: f64) -> f64 {
    let value = figure(number).value(line, across);
    value.unwrap_or_else(|| panic!("figure {number} has no {line} at {across}"))
}

/// The values of all ways, the fastest first, at a place.
fn ways(number: &str, rest_of_name: &str, across: f64) -> [f64; 4] {
    Way::ALL.map(|way| value(number, &format!("{}{rest_of_name}", way.name()), across))
}

const PACKETS: [f64; 3] = [64.0, 256.0, 1024.0];

#[test]
fn what_was_fitted_comes_out_and_what_was_not_is_counted_as_it_is() {
    let [fitted, predicted] = Role::ALL.map(|role| ALL.report.count(role));
    assert_eq!((fitted.within, fitted.of), (5, 5), "{}", ALL.report);
    assert!(predicted.of == 18 && (1..=4).contains(&predicted.within), "{}", ALL.report);
    assert_eq!(ALL.report.set_aside(), (11, 11));
    let missed = ALL.report.cells.iter().filter(|cell| cell.within() == Some(false));
    assert!(missed.clone().all(|cell| cell.miss.is_some()), "a miss is explained");
    assert!(ALL.report.cells.iter().filter(|cell| cell.set_aside.is_some()).all(|cell| cell.ours.is_none()));
}

#[test]
fn each_promise_more_takes_longer_and_a_second_switch_does() {
    for packet in PACKETS {
        let [one, two] = [", 1 switch", ", 2 switches"].map(|network| ways("5.3", network, packet));
        assert!(one.is_sorted() && two.is_sorted(), "{one:?} {two:?}");
        for (one, two) in one.iter().zip(two).take(3) {
            assert!(*one < two && two < 1.4 * one, "{one} {two}");
        }
        // What one node alone executes waits for its word only where it is at another switch than the sender: one more link and one more frame of the receiver, each way.
        let [agreed, safe] = [2, 3].map(|way| [one[way], two[way]]);
        assert!(safe[0] - agreed[0] < 6.0, "{agreed:?} {safe:?}");
        assert!(safe[1] - agreed[1] > 20.0 && safe[1] - agreed[1] < 60.0, "{agreed:?} {safe:?}");
    }
}

#[test]
fn a_second_switch_takes_no_data_from_a_stream() {
    for packet in PACKETS {
        let [one, two] = [", 1 switch", ", 2 switches"].map(|network| ways("5.4", network, packet));
        for (one, two) in one.iter().zip(two) {
            assert!((two / one - 1.0).abs() < 0.05, "{one} {two}");
        }
        // With long packets what an isochron sends beside its part is next to nothing, and a short run begins and ends with less of it.
        assert!(one[0] > one[1] && one[1] > 0.99 * one[2], "{one:?}");
    }
}

#[test]
fn longer_isochrons_carry_more_and_their_parts_go_in_one_frame() {
    for number in ["5.10", "5.11"] {
        for way in Way::ISOCHRONS {
            let rates = [1.0, 2.0, 4.0, 8.0, 16.0].map(|size| value(number, way.name(), size));
            assert!(rates.is_sorted(), "{rates:?}");
        }
        let plain = [1.0, 16.0].map(|size| value(number, Way::Plain.name(), size));
        assert!((plain[1] / plain[0] - 1.0).abs() < 0.01, "each is a frame of its own: {plain:?}");
    }
    let gain = value("5.10", Way::Safe.name(), 4.0) / value("5.10", Way::Safe.name(), 1.0);
    assert!(gain > 60.1 / 38.8, "the prototype's is 1.55: {gain}");
}

#[test]
fn a_send_costs_more_with_a_marker_and_less_without_copies() {
    let safe = Way::Safe.name();
    let [own_part, no_copies] = ["own part", "without copies"].map(|form| format!("{safe}, {form}"));
    for packet in PACKETS {
        let costs = [&no_copies, safe, &own_part].map(|form| value("5.7", form, packet));
        assert!(costs.is_sorted_by(|one, other| one < other), "{costs:?}");
        let frames = |form: &str, what: &str| value("5.7a", &format!("{form}, {what}"), packet);
        // A message and the word that it came; a part, a frame of announcements now and then, and the word that it was executed.
        assert_eq!(["sent", "received"].map(|what| frames(Way::Plain.name(), what)), [1.0, 1.0]);
        let [sent, received] = ["sent", "received"].map(|what| frames(safe, what));
        assert!(sent > 1.0 && sent < 1.2 && received == 1.0, "{sent} {received}");
        // Its marker is one frame more, or a share of one that has several.
        let with_marker = frames(&own_part, "received");
        assert!(with_marker > 1.05 && with_marker <= 2.0, "{with_marker}");
        let bytes = |form: &str| value("5.7b", &format!("{form}, sent"), packet);
        assert!(bytes(safe) > bytes(Way::Plain.name()) && bytes(Way::Plain.name()) > packet);
    }
}

#[test]
fn a_receiver_that_is_overwhelmed_gets_everything() {
    let sentence = ALL.findings.iter().find(|sentence| sentence.contains("were lost"));
    assert!(sentence.is_some_and(|sentence| sentence.contains(" 0 messages")), "{sentence:?}");
    for packet in PACKETS {
        let rates = ways("5.8", "", packet);
        assert!(rates.is_sorted_by(|one, other| one > other), "{rates:?}");
        let [alone, busy] = ["5.3", "5.9"].map(|number| {
            let name = if number == "5.3" { ", 1 switch" } else { "" };
            ways(number, name, packet)
        });
        assert!(alone.iter().zip(busy).all(|(alone, busy)| busy > 5.0 * alone), "{alone:?} {busy:?}");
    }
}

#[test]
fn tokens_take_nothing_from_messages_that_do_not_pass_their_managers() {
    let [rest, pass] = ["tokens at rest", "tokens pass"];
    let beside = "tokens pass, manager beside the receiver";
    for packet in PACKETS {
        for number in ["5.12", "5.13"] {
            assert_eq!(value(number, rest, packet), value(number, pass, packet), "{number} {packet}");
        }
        assert!(value("5.12", beside, packet) >= value("5.12", rest, packet));
        assert!(value("5.13", beside, packet) <= value("5.13", rest, packet));
    }
    assert!(value("5.13", beside, 64.0) < 0.99 * value("5.13", rest, 64.0), "there is something to take");
}

#[test]
fn an_isochron_sends_as_many_tokens_on_each_wire_as_its_receiver_is_far() {
    for way in Way::ISOCHRONS {
        for switches in [1.0, 4.0, 16.0] {
            let wires = 2.0 * (switches - 1.0);
            let distance = if switches > 1.0 { switches } else { 0.0 };
            assert_eq!(value("B", way.name(), switches), distance * wires, "{}", way.name());
        }
        let [near, far] = [4.0, 16.0].map(|switches| value("A", way.name(), switches) / switches);
        assert!((far / near - 1.0).abs() < 0.1, "so it takes as long a switch: {near} {far}");
    }
}

#[test]
fn a_row_of_switches_takes_no_data_from_a_stream_of_which_enough_is_under_way() {
    let rates = [Way::Plain, Way::Agreed, Way::Safe].map(|way| {
        let rates = [1.0, 4.0, 16.0].map(|switches| value("O", way.name(), switches));
        assert!(rates.iter().all(|rate| (rate / rates[0] - 1.0).abs() < 0.1), "{}: {rates:?}", way.name());
        rates[0]
    });
    assert!(rates.is_sorted_by(|one, other| one > other) && rates[2] > 0.8 * rates[0], "{rates:?}");
}

#[test]
fn a_slow_host_delays_what_is_for_it_and_nothing_else() {
    for way in [Way::Plain, Way::Agreed, Way::Safe] {
        let of = |whose: &str, times| value("G", &format!("{}, {whose}", way.name()), times);
        assert!(of("others", 1_000.0) < 1.1 * of("others", 1.0), "{}", way.name());
        assert!(of("to the slow one", 1_000.0) > 50.0 * of("others", 1.0), "{}", way.name());
    }
}

#[test]
fn links_that_vary_delay_isochrons_in_proportion_at_most() {
    for way in Way::ISOCHRONS {
        let [steady, varied] =
            [1.0, 16.0].map(|jitter| value("H", way.name(), jitter) / value("H", Way::Plain.name(), jitter));
        assert!(varied < steady, "{steady} {varied}");
    }
}

#[test]
fn what_a_wire_loses_comes_after_the_time_in_which_it_is_sent_again() {
    for way in [Way::Plain, Way::Agreed, Way::Safe] {
        for network in ["1 switch", "8 switches"] {
            let name = format!("{}, {network}", way.name());
            let means = [0.0, 1_000.0, 10_000.0].map(|lost| value("M", &name, lost));
            // With one of a thousand none need be lost in so short a run.
            assert!(means[1] > 0.99 * means[0] && means[2] > 1.5 * means[1], "{name}: {means:?}");
        }
        // Of frames that cross nine wires more than one of a hundred is lost.
        let name = format!("{}, 8 switches", way.name());
        let [none, many] = [0.0, 10_000.0].map(|lost| value("N", &name, lost));
        assert!(none < 200.0 && many > 1_000.0, "{name}: {none} {many}");
    }
}

#[test]
fn more_hosts_and_more_receivers_take_longer() {
    let hosts = &figure("C").lines[0].points;
    assert_eq!(hosts.iter().map(|(hosts, _)| *hosts).collect::<Vec<f64>>(), [16.0, 256.0]);
    for number in ["C", "F", "I", "K"] {
        let is_longer = |points: &[(f64, f64)]| points.iter().is_sorted_by(|one, other| one.1 < other.1);
        assert!(figure(number).lines.iter().all(|line| is_longer(&line.points)), "{number}");
    }
}

#[test]
fn tokens_of_one_isochron_are_those_of_its_farthest_receiver() {
    let wires = 2.0 * (256.0 / 16.0 - 1.0);
    for way in Way::ISOCHRONS {
        let name = format!("256 hosts, {}", way.name());
        for distance in [1.0, 2.0, 3.0, 4.0, 5.0] {
            assert_eq!(value("J", &name, distance), distance * wires, "{name}");
        }
        // However many there are: 16 receivers of 256 hosts are as far as any.
        assert_eq!(value("L", &name, 16.0), 5.0 * wires, "{name}");
    }
}

#[test]
#[ignore = "takes some minutes"]
fn the_whole_form_reaches_10_000_hosts() {
    let all = Simulated::run(false, 1);
    let [fitted, predicted] = Role::ALL.map(|role| all.report.count(role));
    assert_eq!((fitted.within, fitted.of, predicted.of), (5, 5, 18), "{all}");
    let last = |number: &str| {
        let figure = all.figure(number).expect("the study has it");
        figure.lines.last().and_then(|line| line.points.last()).map(|(across, _)| *across)
    };
    assert_eq!((last("A"), last("C"), last("F")), (Some(64.0), Some(10_000.0), Some(255.0)));
    assert_eq!((last("I"), last("K"), last("O")), (Some(11.0), Some(512.0), Some(64.0)));
}
