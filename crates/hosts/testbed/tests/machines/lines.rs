//! What goes over the lines of machines.

use crate::talk::Talker;
use crate::{LONG, testbed, wait_until};
use quintet_testbed::{Counts, LineReport, Lines, Testbed};
use std::num::NonZeroU64;
use std::time::Duration;

/// A program on each machine.
fn talkers(testbed: &Testbed) -> [Talker; 3] {
    ["a", "b", "c"].map(|name| Talker::on(&testbed.machine(name).expect("it is one")))
}

fn line(testbed: &Testbed, from: &str, to: &str) -> LineReport {
    let report = testbed.report().expect("it answers");
    report.lines.into_iter().find(|line| line.from == from && line.to == to).expect("there is a line")
}

fn counts(testbed: &Testbed, from: &str, to: &str) -> Counts {
    line(testbed, from, to).counts
}

#[test]
fn machines_reach_each_other_under_their_own_names() {
    let Some(testbed) = testbed() else { return };
    let [mut a, mut b, c] = talkers(&testbed);
    assert!(a.reaches(&b) && b.reaches(&a) && b.reaches(&c));
    assert_eq!(a.ask(&format!("pour {} 3000000", b.address())), "poured");
    assert!(counts(&testbed, "a", "b").forwarded_bytes > 3_000_000);
    assert_eq!((a.ask("name"), b.ask("name")), ("a".to_owned(), "b".to_owned()));
    let home = a.ask("home");
    assert!(home != b.ask("home") && std::path::Path::new(&home).is_dir(), "{home}");
    let known = |name: &str| {
        let machine = testbed.machine("a").expect("it is one");
        let found = machine
            .command("getent")
            .expect("it is there")
            .args(["hosts", name])
            .output()
            .expect("it starts");
        String::from_utf8_lossy(&found.stdout).split_whitespace().next().map(str::to_owned)
    };
    assert_eq!((known("a"), known("b")), (Some(a.address().to_string()), Some(b.address().to_string())));
    assert_ne!(std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim(), "a");
}

#[test]
fn a_cut_line_carries_nothing_until_it_is_healed() {
    let Some(testbed) = testbed() else { return };
    let [mut a, mut b, mut c] = talkers(&testbed);
    testbed.cut(&Lines::between("a", "b")).expect("cut");
    assert!(a.misses(&b) && b.misses(&a));
    assert!(a.reaches(&c), "other lines are as before");
    testbed.cut(&Lines::of("c")).expect("cut");
    assert!(c.misses(&b) && a.misses(&c));
    testbed.heal(&Lines::All).expect("healed");
    assert!(a.reaches(&b) && c.reaches(&b));
    assert!(counts(&testbed, "a", "b").cut > 0);
}

#[test]
fn a_line_that_is_cut_one_way_still_carries_the_other() {
    let Some(testbed) = testbed() else { return };
    let [mut a, mut b, _c] = talkers(&testbed);
    // Before the machines have heard anything of each other: addresses are found nevertheless.
    testbed.cut(&Lines::one_way("a", "b")).expect("cut");
    b.send(&a, 5);
    wait_until(|| a.ask("heard") == "5");
    a.send(&b, 3);
    wait_until(|| counts(&testbed, "a", "b").cut == 3);
    assert_eq!((b.ask("heard").as_str(), counts(&testbed, "b", "a").cut), ("0", 0));
}

#[test]
fn a_connection_outlives_a_cut_that_is_healed() {
    let Some(testbed) = testbed() else { return };
    let [mut a, b, _c] = talkers(&testbed);
    // So slow that it is not done before the cut.
    let (rate, queue) =
        (NonZeroU64::new(100_000).expect("not zero"), NonZeroU64::new(100_000).expect("not zero"));
    testbed.limit(&Lines::between("a", "b"), rate, queue).expect("limited");
    a.tell(&format!("pour {} 40000000", b.address()));
    wait_until(|| counts(&testbed, "a", "b").forwarded > 10);
    testbed.cut(&Lines::of("b")).expect("cut");
    wait_until(|| counts(&testbed, "a", "b").cut > 1);
    assert_eq!(a.answer(Duration::ZERO), None);
    testbed.heal(&Lines::of("b")).expect("healed");
    assert_eq!(a.answer(LONG).as_deref(), Some("poured"));
}

#[test]
fn a_slow_line_takes_its_time() {
    let Some(testbed) = testbed() else { return };
    let [mut a, b, _c] = talkers(&testbed);
    let delay = Duration::from_millis(30);
    testbed.slow(&Lines::between("a", "b"), delay, Duration::from_millis(1)).expect("slow");
    assert!(a.round_trip(&b) >= 2 * delay);
    testbed.heal(&Lines::All).expect("healed");
    testbed.slow(&Lines::one_way("a", "b"), delay, Duration::ZERO).expect("slow");
    assert!(a.round_trip(&b) >= delay);
    let there = line(&testbed, "a", "b");
    assert_eq!((there.impairment.delay, there.impairment.jitter), (delay, Duration::ZERO));
    assert_eq!(line(&testbed, "b", "a").impairment.delay, Duration::ZERO);
    let hours = testbed.slow(&Lines::All, Duration::from_secs(7_200), Duration::ZERO);
    assert!(hours.expect_err("refused").to_string().contains("too long"));
}

#[test]
fn what_is_lost_is_counted_and_the_seed_says_which() {
    let Some(testbed) = testbed() else { return };
    let [mut a, mut b, _c] = talkers(&testbed);
    assert!(a.reaches(&b));
    let before = counts(&testbed, "a", "b").forwarded;
    testbed.lose(&Lines::between("a", "b"), 300_000).expect("lossy");
    a.send(&b, 200);
    let gone = || {
        let counts = counts(&testbed, "a", "b");
        (counts.forwarded - before, counts.lost)
    };
    wait_until(|| gone().0 + gone().1 == 200);
    let (forwarded, lost) = gone();
    assert!((20..120).contains(&lost), "{lost} of 200");
    wait_until(|| b.ask("heard") == forwarded.to_string());
    assert_eq!(a.ask(&format!("pour {} 30000", b.address())), "poured", "TCP sends again what is lost");
    // The same 200 packets of another testbed of this seed.
    let other = crate::testbed().expect("as the first");
    let [mut a, b, _c] = talkers(&other);
    other.lose(&Lines::one_way("a", "b"), 300_000).expect("lossy");
    a.send(&b, 200);
    wait_until(|| counts(&other, "a", "b").forwarded + counts(&other, "a", "b").lost == 200);
    assert_eq!(counts(&other, "a", "b").lost, lost);
}

#[test]
fn packets_are_reordered_and_a_rate_makes_them_wait() {
    let Some(testbed) = testbed() else { return };
    let [mut a, mut b, _c] = talkers(&testbed);
    testbed.reorder(&Lines::between("a", "b"), 200_000, Duration::from_millis(2)).expect("reordered");
    assert_eq!(a.ask(&format!("pour {} 300000", b.address())), "poured");
    testbed.heal(&Lines::All).expect("healed");
    let (rate, queue) = (NonZeroU64::new(1_000).expect("not zero"), NonZeroU64::new(200).expect("not zero"));
    testbed.limit(&Lines::one_way("a", "b"), rate, queue).expect("limited");
    let before = counts(&testbed, "a", "b").forwarded;
    a.send(&b, 500);
    // And the end of the connection before, maybe.
    wait_until(|| {
        let line = line(&testbed, "a", "b");
        line.counts.forwarded - before + line.counts.overflowed + line.held >= 500
    });
    assert!(counts(&testbed, "a", "b").overflowed > 300, "twenty in a second pass");
    assert!(testbed.limit(&Lines::All, NonZeroU64::MIN, queue).is_err());
    testbed.heal(&Lines::All).expect("healed");
    assert!(b.reaches(&a));
}

#[test]
fn a_machine_is_reached_at_its_new_address_only() {
    let Some(mut testbed) = testbed() else { return };
    let [mut a, mut b, _c] = talkers(&testbed);
    assert!(a.reaches(&b));
    let other = testbed.machine("c").expect("it is one").address();
    let taken = testbed.readdress("b", other, 24).expect_err("refused").to_string();
    assert!(taken.contains("is the address of c"), "{taken}");
    let nobodys = testbed.readdress("b", [127, 0, 0, 1].into(), 24).expect_err("refused").to_string();
    assert!(nobodys.contains("no address of one machine"), "{nobodys}");
    let [first, second, third, _] = other.octets();
    testbed.readdress("b", [first, second, third, 98].into(), 33).expect_err("no network has so many bits");
    assert!(a.reaches(&b), "it stays as it was");
    let new = std::net::Ipv4Addr::new(first, second, third, 99);
    testbed.readdress("b", new, 24).expect("moved");
    assert!(a.misses(&b));
    b.moved(new.into());
    assert!(a.ask("names").contains(&format!("{new}\tb;")), "who runs already sees the new address");
    assert!(a.reaches(&b) && b.reaches(&a));
    assert_eq!(
        Testbed::open(testbed.name()).expect("it is up").machine("b").expect("it is one").address(),
        new
    );
}

#[test]
fn who_names_what_is_not_there_is_told_what_is() {
    let Some(testbed) = testbed() else { return };
    let said = |lines: &Lines| testbed.cut(lines).expect_err("refused").to_string();
    assert!(said(&Lines::of("d")).contains("no machine \"d\": it has a, b, c"));
    assert!(said(&Lines::between("a", "a")).contains("no line to itself"));
    assert_eq!(line(&testbed, "a", "b").counts, Counts::default());
}
