//! Traces, read by a decoder that knows of protobuf only what its documentation says.

use super::{model, simulate};
use crate::protobuf::Fields;
use crate::tool::text;
use quintet_testbed::TempDir;
use std::collections::BTreeMap;

const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// What happened on a track: when in ns, the type, the name, the value of a counter.
type Event = (u64, u64, String, u64);

/// By the track's name.
fn tracks(file: &[u8]) -> BTreeMap<String, Vec<Event>> {
    let (mut names, mut tracks) = (BTreeMap::new(), BTreeMap::new());
    for packet in Fields::of(file).all(1).map(Fields::of) {
        assert_eq!(packet.numbers[&10], 1, "one sequence");
        for track in packet.all(60).map(Fields::of) {
            let known = names.insert(track.numbers[&1], track.text(2));
            assert_eq!(known, None, "each track is described once");
            assert!(track.numbers.get(&5).is_none_or(|parent| names.contains_key(parent)));
            assert!(tracks.insert(track.text(2), Vec::new()).is_none(), "{} twice", track.text(2));
        }
        for event in packet.all(11).map(Fields::of) {
            let track = names.get(&event.numbers[&11]).expect("it was described before");
            let value = event.numbers.get(&30).copied().unwrap_or_default();
            let told = (packet.numbers[&8], event.numbers[&9], event.text(23), value);
            tracks.get_mut(track).expect("it is there").push(told);
        }
    }
    tracks
}

/// The time in which slices cover a track. Each ends before the next begins.
fn covered(events: &[Event]) -> u64 {
    let (mut covered, mut begun) = (0, None);
    for (at, what, ..) in events {
        match *what {
            BEGIN => assert_eq!(begun.replace(*at), None, "a slice in a slice"),
            END => covered += at - begun.take().expect("it was begun"),
            _ => {}
        }
    }
    assert_eq!(begun, None, "all slices end");
    covered
}

#[test]
fn a_trace_shows_each_core_of_a_processor() {
    let folder = TempDir::new().unwrap();
    let (model, path) = (folder.join("cores.toml"), folder.join("run.pftrace"));
    let written = r#"
        [model]
        name = "cores"
        end = "10 ms"
        [processor.cpu]
        cores = 2
        instructions = { job = "3 ms" }
        [module.begin]
        on = "cpu"
        start = "0 s"
        do = [{ send = "go", to = "job", times = 4 }]
        [module.job]
        on = "cpu"
        waits_for = { go = 1 }
        do = [{ execute = "job" }]
    "#;
    std::fs::write(&model, written).unwrap();
    let (status, said) = simulate(&[text(&model), "--seeds", "1", "--trace", text(&path)]);
    assert_eq!(status, 0, "{said}");
    let file = std::fs::read(&path).unwrap();
    let tracks = tracks(&file);
    for core in ["cpu core 1", "cpu core 2"] {
        let slices: Vec<_> = tracks[core].iter().filter(|(_, what, ..)| *what != INSTANT).collect();
        let times: Vec<_> = slices.iter().map(|(at, what, ..)| (*at, *what)).collect();
        assert_eq!(times, [(0, BEGIN), (3_000_000, END), (3_000_000, BEGIN), (6_000_000, END)], "{core}");
    }
    let waiting: Vec<_> = tracks["job waiting"].iter().map(|(at, _, _, value)| (*at, *value)).collect();
    assert_eq!(waiting, [(0, 0), (0, 2), (3_000_000, 0)]);
}

#[test]
fn a_trace_says_what_ran_where_and_what_waited() {
    let folder = TempDir::new().unwrap();
    let (model, path) = (model(&folder), folder.join("run.pftrace"));
    let (status, said) = simulate(&[text(&model), "--seeds", "1", "--trace", text(&path)]);
    assert_eq!(status, 0, "{said}");
    let file = std::fs::read(&path).unwrap();
    let tracks = tracks(&file);
    for (name, events) in &tracks {
        assert!(events.is_sorted_by_key(|(at, ..)| at), "time runs backwards on {name}");
        covered(events);
    }
    // In 100 ms: ten jobs of 3 ms, each of which sends twice 1000 bytes at 1 MB/s.
    let cpu = &tracks["cpu"];
    assert_eq!(cpu.iter().filter(|(_, what, name, _)| (*what, name.as_str()) == (BEGIN, "job")).count(), 10);
    assert_eq!((cpu[0].0, covered(cpu), covered(&tracks["bus"])), (0, 30_000_000, 20_000_000));
    let messages = &tracks["bus messages"];
    let count = |wanted: &str| messages.iter().filter(|(.., name, _)| name == wanted).count();
    assert_eq!((count("sent"), count("delivered"), count("dropped")), (20, 20, 0));
    assert_eq!(messages.iter().find(|(.., name, _)| name == "delivered").unwrap().0, 4_000_000);
    // The second of two waits for the first.
    let waiting: Vec<_> =
        tracks["bus waiting"].iter().map(|(at, what, _, value)| (*at, *what, *value)).collect();
    assert_eq!(waiting[..3], [(0, COUNTER, 0), (3_000_000, COUNTER, 1), (4_000_000, COUNTER, 0)]);
    // What takes no time is a mark.
    let sink = &tracks["sink"];
    let marks = |wanted: &str| {
        sink.iter().filter(|(_, what, name, _)| (*what, name.as_str()) == (INSTANT, wanted)).count()
    };
    assert_eq!((sink.len(), marks("take"), marks("receives data")), (40, 20, 20));
}

/// What happened to each message: the number of its arrows, with what they join, in order: the track, the name and the length.
fn flows(file: &[u8]) -> BTreeMap<u64, Vec<(String, String, Option<u64>)>> {
    let (mut names, mut flows) = (BTreeMap::new(), BTreeMap::<u64, Vec<_>>::new());
    for packet in Fields::of(file).all(1).map(Fields::of) {
        names.extend(packet.all(60).map(Fields::of).map(|track| (track.numbers[&1], track.text(2))));
        for event in packet.all(11).map(Fields::of) {
            let mut details = event.all(4).map(Fields::of);
            let bytes = details.find(|detail| detail.text(10) == "bytes").map(|detail| detail.numbers[&3]);
            for (_, flow) in event.fixed.iter().filter(|(field, _)| *field == 47) {
                let track = names[&event.numbers[&11]].clone();
                flows.entry(*flow).or_default().push((track, event.text(23), bytes));
            }
        }
    }
    flows
}

#[test]
fn a_message_is_followed_from_who_sends_it_to_who_receives_it() {
    let folder = TempDir::new().unwrap();
    let (model, path) = (model(&folder), folder.join("run.pftrace"));
    let (status, said) = simulate(&[text(&model), "--seeds", "1", "--trace", text(&path)]);
    assert_eq!(status, 0, "{said}");
    let flows = flows(&std::fs::read(&path).unwrap());
    assert_eq!(flows.len(), 20);
    let expected = [("cpu", "sends data"), ("bus messages", "sent"), ("sink", "receives data")]
        .map(|(track, name)| (track.to_owned(), name.to_owned(), Some(1000)));
    for (number, flow) in flows {
        assert_eq!(flow, expected, "{number}");
    }
}

/// Three messages of 1000 bytes over a link, by `with` its parameters, one of them beside the two processors that it joins.
fn over_a_link(with: &str) -> BTreeMap<u64, Vec<(String, String, Option<u64>)>> {
    let folder = TempDir::new().unwrap();
    let (model, path) = (folder.join("link.toml"), folder.join("run.pftrace"));
    let written = r#"
        [model]
        name = "link"
        end = "10 ms"
        [processor.here]
        [processor.there]
        [device.line]
        kind = "link"
        stations = ["here", "there"]
        WITH
        [module.ask]
        on = "here"
        start = "0 s"
        do = [{ send = "note", to = "look" }, { ask = "data", to = "answer", through = "line", bytes = "1000 B", timeout = "9 ms" }]
        [module.look]
        on = "here"
        waits_for = { note = 1 }
        [module.answer]
        on = "there"
        waits_for = { data = 1 }
        do = [{ reply = "data", bytes = "2000 B" }]
    "#;
    std::fs::write(&model, written.replace("WITH", with)).unwrap();
    let (status, said) = simulate(&[text(&model), "--seeds", "1", "--trace", text(&path)]);
    assert_eq!(status, 0, "{said}");
    flows(&std::fs::read(&path).unwrap())
}

#[test]
fn a_message_over_a_link_is_followed_too() {
    let told = |track: &str, name: &str, bytes| (track.to_owned(), name.to_owned(), Some(bytes));
    let [ask, answered, answer, heard] = [
        told("here", "sends data", 1000),
        told("there", "receives data", 1000),
        told("there", "sends a reply", 2000),
        told("here", "receives a reply", 2000),
    ];
    // Nothing of it is told of what stays on one processor.
    let both: Vec<_> = over_a_link("delay = \"2 ms\"").into_values().collect();
    assert_eq!(both, [vec![ask.clone(), answered.clone()], vec![answer.clone(), heard.clone()]]);
    let at_once: Vec<_> = over_a_link("").into_values().collect();
    assert_eq!(at_once, both);
    let late: Vec<_> = over_a_link("delay = \"8 ms\"").into_values().collect();
    assert_eq!(
        late,
        [vec![ask.clone(), answered.clone()], vec![answer]],
        "the run ends before the reply is there"
    );
    let lost: Vec<_> = over_a_link("loss = 1").into_values().collect();
    assert_eq!(lost, [vec![ask.clone()]]);
    let twice = over_a_link("duplicates = 1").into_values().next().expect("it is sent");
    assert_eq!(twice, [ask, answered.clone(), answered]);
}

#[test]
fn the_documents_commands_that_trace_write_a_trace() {
    let folder = TempDir::new().unwrap();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let page = std::fs::read_to_string(format!("{root}/docs/models.md")).unwrap();
    let mut count = 0;
    for line in page.lines().filter(|line| line.starts_with("quintet simulate run models/")) {
        let Some((command, file)) = line.split_once(" --trace ") else { continue };
        let path = folder.join(file.split_whitespace().next().unwrap());
        let command = command.replace("models/", &format!("{root}/models/"));
        // What stands between quotes is one word for a shell.
        let parts = command.split('\'').zip([false, true].into_iter().cycle());
        let words = parts.flat_map(|(part, is_quoted)| match is_quoted {
            true => vec![part],
            false => part.split_whitespace().collect(),
        });
        let words = words.skip(3).chain(["--trace", text(&path)]);
        let (status, said) = simulate(&words.collect::<Vec<_>>());
        assert!(status == 0 && path.is_file(), "{line}: {said}");
        count += 1;
    }
    assert_eq!(count, 2, "the page has two");
}
