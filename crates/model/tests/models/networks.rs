//! Networks of model files: what their tables mean, what is wrong with them, and what their ports say.

use quintet_model::{ElementKind, Model, RunResult};
use std::sync::atomic::AtomicBool;

/// Two rows of desks behind a switch each, a server, and two ways between the switches: the core is two hops, the wire one that is
/// dear.
const OFFICE: &str = r#"
[model]
name = "office"
end = "1 s"

[parameters]
desks = 4

[processor.desk]
count = "desks"

[processor.server]

[network.lan]
rate = "8 Mb/s"
delay = "10 us"
packet = "1500 B"
overhead = "38 B"

[network.lan.switch.access]
count = 2
latency = "4 us"

[network.lan.switch.core]

[network.lan.link.desk]
between = ["desk", "access"]

[network.lan.link.up]
between = ["access", "core"]
rate = "80 Mb/s"

[network.lan.link.server]
between = ["core", "server"]
rate = "80 Mb/s"

[network.lan.link.wire]
between = ["access-1", "access-2"]
cost = 5

[module.ask]
on = "desk"
every = "10 ms"
do = [{ send = "question", to = "answer", bytes = "962 B" }]

[module.answer]
on = "server"
waits_for = { question = 1 }

[module.chat]
on = "desk-1"
start = "505 ms"
do = [{ send = "word", to = "hear", bytes = "962 B", route = ["desk", "wire", "desk"], through = "lan" }]

[module.hear]
on = "desk-4"
waits_for = { word = 1 }

[measure.way]
time = { from = "ask-1.start", to = "answer.start" }

[measure.chat]
time = { from = "chat.start", to = "hear.start" }
"#;

fn model(from: &str, to: &str) -> Model {
    assert!(OFFICE.contains(from), "{from} stands in the model");
    Model::from_str(&OFFICE.replace(from, to), "m.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn run(model: &Model) -> RunResult {
    model.run(1).unwrap_or_else(|error| panic!("{error}"))
}

/// What is wrong with the model once `from` in it is `to`, one line each.
fn problems(from: &str, to: &str) -> Vec<String> {
    assert_eq!(OFFICE.matches(from).count(), 1, "{from} stands once in the model");
    match Model::from_str(&OFFICE.replace(from, to), "m.toml") {
        Ok(_) => Vec::new(),
        Err(error) => error.problems.iter().map(ToString::to_string).collect(),
    }
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
}

#[test]
fn messages_go_over_switches_and_ports_count_them() {
    let model = model("", "");
    assert_eq!(model.warnings(), []);
    let result = run(&model);
    let found = result.quantities();
    let quantity = |name: &str| *found.get(name).unwrap_or_else(|| panic!("{name}"));
    // 1,000 bytes with overhead: 1 ms to the first switch; 100 us to the core and 100 to the server. Both desks of a switch send at
    // once, so that one of two waits 100 us in the switch; both switches then, so that two of four wait in the core. 30 us of delay, and
    // 4 us in the first switch.
    let alone = 1_000.0 + 100.0 + 100.0 + 30.0 + 4.0;
    let first = &result.modules["answer"];
    assert_eq!(first.activations, 400);
    assert!((quantity("measure.way") * 1e6 - alone).abs() < 1e-6, "{}", quantity("measure.way"));
    // The stated way: 1 ms on each of three links and 4 us in both switches.
    near(quantity("measure.chat") * 1e6, 3_000.0 + 30.0 + 8.0);
    assert_eq!(quantity("port.lan.access-1.wire.packets"), 1.0);
    assert_eq!(quantity("port.lan.access-2.wire.packets"), 0.0);
    // Each desk sends 100 questions, and the first a word besides.
    assert_eq!(quantity("port.lan.desk-1.desk-1.packets"), 101.0);
    assert_eq!(quantity("port.lan.access-2.desk-4.bytes"), 962.0);
    near(quantity("port.lan.desk-2.desk-2.utilisation"), 0.1);
    near(quantity("port.lan.core.server.utilisation"), 0.04);
    assert_eq!(quantity("port.lan.core.server.longest_queue"), 2.0);
    // In the core three of four questions wait, for 100, 100 and 200 us.
    assert_eq!(quantity("device.lan.delivered"), 401.0);
    // Groups: all desks' ports, and those of the switches to them.
    assert_eq!(quantity("port.lan.desk.desk.packets"), 401.0);
    assert_eq!(quantity("port.lan.access.desk.packets"), 1.0);
    near(quantity("port.lan.access.up.utilisation"), 0.02);
    for name in found.keys() {
        let subject = model.subject(name).unwrap_or_else(|| panic!("{name}"));
        if subject.kind == ElementKind::Port {
            let written = ["lan.desk.desk", "lan.access.desk", "lan.access.up", "lan.core.up"];
            let alone = ["lan.core.server", "lan.server.server", "lan.access-1.wire", "lan.access-2.wire"];
            let is_alone = written.iter().chain(&alone).any(|name| *name == subject.element);
            assert_eq!(model.is_in_group(&subject), !is_alone, "{name}");
        }
    }
}

/// A message that is lost comes to no end; half of the packets are lost here.
#[test]
fn links_lose_packets_and_messages_with_them() {
    let lossy = run(&model("[network.lan.link.server]", "[network.lan.link.server]\nloss = 0.5"));
    let (server, answers) = (&lossy.ports["lan.core.server"], lossy.modules["answer"].activations);
    assert_eq!((server.packets, server.packets - server.lost), (400, answers));
    assert!((150..250).contains(&answers), "{answers}");
    assert_eq!(lossy.devices["lan"].dropped, 400 - answers);
}

#[test]
fn what_is_written_for_the_network_holds_for_links_that_say_nothing() {
    let slower = run(&model("rate = \"8 Mb/s\"", "rate = \"4 Mb/s\""));
    // Of the three links only the first has no rate of its own.
    near(slower.quantities()["measure.way"] * 1e6, 2_000.0 + 200.0 + 30.0 + 4.0);
    let cheaper = run(&model("cost = 5", "cost = 0"));
    assert_eq!(cheaper.ports["lan.core.server"].packets, 400, "the wire leads to no core");
    let without =
        run(&model("route = [\"desk\", \"wire\", \"desk\"], through = \"lan\"", "through = \"lan\""));
    assert_eq!(without.ports["lan.access-1.wire"].packets, 0, "the core costs less");
    let without = model("route = [\"desk\", \"wire\", \"desk\"], through = \"lan\"", "through = \"lan\"");
    let cheap = Model::from_str(
        &OFFICE.replace("route = [\"desk\", \"wire\", \"desk\"], ", "").replace("cost = 5", "cost = 1"),
        "m.toml",
    );
    assert_eq!(
        run(&cheap.expect("a good model")).ports["lan.access-1.wire"].packets,
        1,
        "one link is less than two"
    );
    assert_eq!(without.warnings(), []);
}

#[test]
fn one_route_from_both_sides_is_one_way() {
    let both = OFFICE.replace("[module.hear]\non = \"desk-4\"\nwaits_for = { word = 1 }", "[module.hear]\non = \"desk-4\"\nwaits_for = { word = 1 }\ndo = [{ send = \"back\", to = \"chat\", bytes = \"962 B\", route = [\"desk-4\", \"wire\", \"desk-1\"], through = \"lan\" }]")
        .replace("start = \"505 ms\"\n", "waits_for = { back = 1 }\n")
        .replace("[measure.way]", "[module.begin]\non = \"desk-1\"\nstart = \"505 ms\"\ndo = [{ send = \"back\", to = \"chat\" }]\n\n[measure.way]");
    let result = run(&Model::from_str(&both, "m.toml").unwrap_or_else(|error| panic!("{error}")));
    let (there, back) = (&result.ports["lan.access-1.wire"], &result.ports["lan.access-2.wire"]);
    assert!(there.packets > 50 && there.packets - back.packets <= 1, "{there:?} {back:?}");
}

#[test]
fn a_circle_of_switches_goes_both_ways() {
    let ring = OFFICE
        .replace(
            "[network.lan.link.wire]\nbetween = [\"access-1\", \"access-2\"]\ncost = 5\n",
            "[network.lan.link.wire]\nbetween = [\"access\", \"access.next\"]\ncost = 5\n",
        )
        .replace("count = 2", "count = 4")
        .replace("\"wire\", ", "\"wire-1\", \"wire-2\", \"wire-3\", ");
    let result = run(&Model::from_str(&ring, "m.toml").unwrap_or_else(|error| panic!("{error}")));
    let packets = |port: &str| result.ports[port].packets;
    assert_eq!(["lan.access-1.wire-1", "lan.access-2.wire-2", "lan.access-3.wire-3"].map(packets), [1; 3]);
    assert_eq!(packets("lan.access-1.wire-4"), 0);
    assert_eq!(result.modules["hear"].activations, 1);
}

#[test]
fn each_mistake_is_named_with_its_place() {
    let cases = [
        (
            "between = [\"core\", \"server\"]",
            "between = [\"core\", \"sever\"]",
            "network.lan.link.server.between: there is no processor or switch sever; did you mean server?",
        ),
        (
            "between = [\"core\", \"server\"]",
            "between = [\"core\"]",
            "network.lan.link.server.between: found 1 names, expected two",
        ),
        (
            "between = [\"core\", \"server\"]",
            "between = [\"core\", \"core\"]",
            "network.lan.link.server.between: it joins core to itself",
        ),
        (
            "between = [\"core\", \"server\"]",
            "",
            "network.lan.link.server.between: is missing, expected a list of two processors or switches",
        ),
        (
            "between = [\"access\", \"core\"]",
            "between = [\"core\", \"server\"]",
            "network.lan: desk-1 and server are not joined: no links lead from one to the other",
        ),
        (
            "count = 2",
            "count = 3",
            "network.lan.link.desk.between: 4 links cannot be shared evenly among the 3 of the group access",
        ),
        (
            "rate = \"8 Mb/s\"\n",
            "",
            "network.lan.link.desk.rate: is missing, expected a data rate, here or of the network, such as \"1 Gb/s\"",
        ),
        (
            "[network.lan.switch.core]",
            "[network.lan.switch.core]\nlatenzy = \"1 us\"",
            "network.lan.switch.core.latenzy: there is no such key; did you mean latency?",
        ),
        (
            "cost = 5",
            "loss = 2",
            "network.lan.link.wire.loss: found \"2\", expected a number without unit, from 0 to 1",
        ),
        (
            "delay = \"10 us\"",
            "delay = \"10\"",
            "network.lan.delay: \"10\" has no unit, expected a time, such as \"1.5 ms\"",
        ),
        (
            "delay = \"10 us\"",
            "when_full = \"wait\"",
            "network.lan.when_full: found \"wait\", expected \"drop\" or \"pause\"",
        ),
        (
            "\"desk\", \"wire\", \"desk\"",
            "\"desk\", \"up\", \"desk\"",
            "module.chat.do[0].route: no link desk leads on from core",
        ),
        (
            "\"desk\", \"wire\", \"desk\"",
            "\"desk\", \"desk\"",
            "module.chat.do[0].route: this leads to desk-2 instead of desk-4",
        ),
        (
            "\"desk\", \"wire\", \"desk\"",
            "\"desk\", \"wire\", \"desk-3\"",
            "module.chat.do[0].route: this leads to desk-3 instead of desk-4",
        ),
        (
            "\"desk\", \"wire\", \"desk\"",
            "\"desk\", \"wire\"",
            "module.chat.do[0].route: this leads to access-2 instead of desk-4",
        ),
        (", through = \"lan\"", "", ""),
        (
            ", through = \"lan\"",
            ", through = \"wan\"",
            "module.chat.do[0].through: there is no device wan; did you mean lan?",
        ),
        (
            "[processor.server]",
            "[processor.server]\n[device.lan]\nkind = \"link\"\nstations = [\"server\"]",
            "network.lan: lan is the name of a device too",
        ),
        (
            "[network.lan.switch.core]",
            "[network.lan.switch.core]\n[network.lan.switch.server]",
            "network.lan.switch.server: server is the name of a processor too",
        ),
    ];
    for (from, to, expected) in cases {
        let said = problems(from, to);
        let is_said =
            expected.is_empty() && said.is_empty() || said.iter().any(|line| line.contains(expected));
        assert!(is_said, "{to}: {said:#?}\nexpected {expected}");
        assert!(said.iter().all(|line| line.contains(", line ")), "{said:?}");
    }
}

#[test]
fn a_message_without_a_device_takes_the_only_one_there_is() {
    let link = "[device.other]\nkind = \"link\"\nstations = [\"desk\", \"server\"]\n\n[module.ask]";
    let said = problems("[module.ask]", link);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("other and lan join desk-1 and server: name one of them with through"),
        "{said:?}"
    );
}

#[test]
fn a_message_between_processors_that_nothing_joins_needs_a_device() {
    let alone = "[processor.server]\n\n[processor.cellar]\n\n[module.dig]\non = \"cellar\"\nstart = \"0 s\"\ndo = [{ send = \"word\", to = \"hear\" }]";
    let said = problems("[processor.server]", alone);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("module.dig.do[0]: a message from cellar to desk-4 needs a device"), "{said:?}");
}

#[test]
fn processors_pass_nothing_on() {
    let said = problems("between = [\"access\", \"core\"]", "between = [\"access\", \"server\"]");
    // The desks reach the server, and the core is behind it; the stated way does not need it.
    assert_eq!(said, Vec::<String>::new());
    let through = OFFICE
        .replace("between = [\"access\", \"core\"]", "between = [\"access\", \"server\"]")
        .replace("between = [\"access-1\", \"access-2\"]", "between = [\"access-1\", \"server\"]")
        .replace("route = [\"desk\", \"wire\", \"desk\"], ", "");
    let error = Model::from_str(&through, "m.toml").expect_err("the server is between");
    let expected =
        "module.chat.do[0].through: no way leads in lan from desk-1 to desk-4: processors pass nothing on";
    assert!(error.to_string().contains(expected), "{error}");
    let stated = through.replace(
        "to = \"hear\", bytes = \"962 B\", ",
        "to = \"hear\", bytes = \"962 B\", route = [\"desk\", \"up\", \"up\", \"desk\"], ",
    );
    let error = Model::from_str(&stated, "m.toml").expect_err("the server is between");
    assert!(
        error.to_string().contains("the processor server passes nothing on, so that up cannot follow"),
        "{error}"
    );
}

/// Every key of the tables of networks and pools is read: a value that it cannot have is found where it stands.
#[test]
fn every_key_is_read() {
    use quintet_model::keys::{NETWORK, NETWORK_LINK, NETWORK_SWITCH, POOL};
    let tables = [
        (&NETWORK, "[network.lan]\n", "network.lan"),
        (&NETWORK_SWITCH, "[network.lan.switch.core]\n", "network.lan.switch.core"),
        (&NETWORK_LINK, "[network.lan.link.wire]\n", "network.lan.link.wire"),
        (&POOL, "[pool.disks]\n", "pool.disks"),
    ];
    for (table, heading, path) in tables {
        for key in table.keys.iter().filter(|key| !["switch", "link"].contains(&key.name)) {
            // Once, and without what the model has there.
            let plain = OFFICE.replace("[module.ask]", "[pool.disks]\n\n[module.ask]");
            let (before, after) = plain.split_once(heading).expect("the table is there");
            let (own, rest) = after.split_once("\n\n").expect("another follows");
            let is_other = |line: &&str| !line.starts_with(&format!("{} =", key.name));
            let own: Vec<&str> = own.lines().filter(is_other).collect();
            let text = format!("{before}{heading}{} = \"?\"\n{}\n\n{rest}", key.name, own.join("\n"));
            let error = Model::from_str(&text, "m.toml").expect_err("a wrong value");
            let at = format!("{path}.{}", key.name);
            assert!(error.problems.iter().any(|problem| problem.key == at), "{at}: {error}");
        }
    }
}

/// A port that sends has a track of its own, one that never does has none; so have pools.
#[test]
fn a_trace_has_the_ports_that_send() {
    let with_pool =
        OFFICE.replace("[module.answer]", "[pool.disks]\nservers = 2\n\n[module.answer]").replace(
            "waits_for = { question = 1 }",
            "waits_for = { question = 1 }\ndo = [{ use = \"disks\", time = \"1 ms\" }]",
        );
    let model = Model::from_str(&with_pool, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    let mut trace = Vec::new();
    let traced = model.trace(1, &mut trace, &AtomicBool::new(false)).expect("a trace in memory");
    assert_eq!(traced.digest, run(&model).digest);
    let has = |text: &str| trace.windows(text.len()).any(|part| part == text.as_bytes());
    for name in
        ["lan.core.server", "lan.access-1.wire", "lan.desk-3.desk-3", "lan.core.server waiting", "any server"]
    {
        assert!(has(name), "{name}");
    }
    assert!(!has("lan.access-2.wire") && !has("lan.server.server"), "they never send");
}
