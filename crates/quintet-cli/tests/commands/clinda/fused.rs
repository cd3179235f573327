//! `-ffuse`: programs say the same with it and without, and ask the space less.

use super::hoisted::{say_the_same, with};
use crate::tool::result;
use quintet::{Lab, ServeConfig, Server, SpaceConfig, template, tuple};
use quintet_testbed::{Program, TempDir};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A token that goes round three processes, each of which says whether it has seen it; a variable that is set again and again.
const ROUND: &str = "#include <stdio.h>
int station(int me, int next, int laps);
int station(int me, int next, int laps)
{
    int n, sum = 0;
    for (int lap = 0; lap < laps; lap++) {
        in(\"token\", me, ?n);
        out(\"token\", next, lap);
        out(\"seen\", me);
        sum += n;
    }
    return sum;
}
void real_main(void)
{
    int n;
    for (int i = 0; i < 3; i++)
        eval(\"sum\", i, station(i, (i + 1) % 3, 50));
    out(\"token\", 0, 7);
    for (int i = 0; i < 3; i++) {
        in(\"sum\", i, ?n);
        printf(\"%d has %d\\n\", i, n);
    }
    in(\"token\", 0, ?n);
    out(\"best\", 0);
    for (int i = 0; i < 150; i++)
        if (!inp(\"seen\", i % 3))
            lhalt(3);
    for (int i = 1; i <= 300; i++) {
        in(\"best\", ?int);
        out(\"best\", i);
        if (!rdp(\"best\", i) || inp(\"seen\", ?int))
            lhalt(4);
    }
    in(\"best\", ?n);
    printf(\"%d at the end\\n\", n);
}
";

#[test]
fn tokens_and_variables_are_the_same_alone_and_as_jobs() {
    let folder = TempDir::new().unwrap();
    let source = folder.join("round.cl");
    fs::write(&source, ROUND).unwrap();
    for options in [&["-ffuse"][..], &["-ffuse", "-fhoist"]] {
        let said = say_the_same(&folder, &source, &[], [options, &["-fno-fuse"]]);
        assert_eq!(said, ["0 has 1183", "1 has 1225", "2 has 1225", "300 at the end"]);
    }
}

/// Hands a token to and fro, a hundred times.
const STEPS: &str = "#include <stdio.h>
#include <stdlib.h>
void real_main(void)
{
    int from = 0, to = 1, n;
    out(\"token\", 0, 0);
    for (int i = 1; i <= 100; i++) {
        in(\"token\", from, ?n);
        out(\"token\", to, i);
        if (n != i - 1)
            exit(3);
        from = to;
        to = 1 - to;
    }
    in(\"token\", from, ?n);
    printf(\"%d\\n\", n);
}
";

/// A program of this text, fused, that uses the space at this place.
fn fused(folder: &TempDir, name: &str, source: &str, place: &Path) -> Program {
    let path = folder.join(format!("{name}.cl"));
    fs::write(&path, source).unwrap();
    Program::new(with(folder, &path, &["-ffuse"])).env("QUINTET_SPACE", place)
}

#[test]
fn a_space_with_one_manager_is_asked_once_and_one_with_several_twice() {
    let folder = TempDir::new().unwrap();
    for (managers, fused_steps) in [(1, 100), (3, 0)] {
        let place = folder.join(format!("of-{managers}"));
        let server = Server::start(&place, &ServeConfig { managers, ..ServeConfig::default() }).unwrap();
        let steps = fused(&folder, "steps", STEPS, &place);
        assert_eq!(result(steps.spawn().unwrap()), (0, "100".to_owned()));
        let told = server.meter().measure(Duration::from_secs(60)).unwrap();
        let asked = |operation| -> u64 {
            let label = Some(("operation", operation));
            told.iter().filter(|found| found.metric.label == label).map(|found| found.value).sum()
        };
        assert_eq!(asked("replace"), fused_steps, "{managers} managers");
        assert_eq!(asked("take") > 100, fused_steps == 0, "{managers} managers");
        server.stop().unwrap();
    }
}

/// Puts more than it takes, twice.
const MORE: &str = "#include <stdio.h>
void real_main(void)
{
    out(\"go\");
    out(\"go\");
    for (int i = 0; i < 2; i++) {
        in(\"go\");
        out(\"a\", i);
        out(\"b\", i);
        out(\"c\", i);
        out(\"d\", i);
        out(\"e\", i);
        out(\"f\", i);
    }
    printf(\"all are put\\n\");
}
";

#[test]
fn what_finds_no_room_waits_for_it_as_an_out_does() {
    let folder = TempDir::new().unwrap();
    let place = folder.join("space");
    let space = SpaceConfig { max_tuples: 32, ..SpaceConfig::default() };
    let _server = Server::start(&place, &ServeConfig { space, ..ServeConfig::default() }).unwrap();
    let space = Lab::connect(&place, 0, Duration::from_secs(10)).unwrap().space();
    (0..30).for_each(|_| space.out(tuple!["filler"]).unwrap());
    let program = fused(&folder, "more", MORE, &place).spawn().unwrap();
    // The reserve has room for six tuples once. Of the second six two are where the words to go were, and the third waits.
    while space.status().unwrap().parked == 0 {
        std::thread::yield_now();
    }
    assert_eq!(space.status().unwrap().tuples, 30 + 6 + 2);
    (0..30).for_each(|_| drop(space.take(&template!["filler"]).unwrap()));
    assert_eq!(result(program), (0, "all are put".to_owned()));
    for name in ["a", "b", "c", "d", "e", "f"] {
        assert_eq!(space.count(&template![name, ?i32]).unwrap(), 2);
    }
}
