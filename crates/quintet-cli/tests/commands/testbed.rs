//! `testbed`: machines are made, made worse, shown and removed.

use crate::tool::{LONG, is_alive, quintet, result, start, state, wait_until, wait_until_gone};
use quintet_testbed::namespaces_refused;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// A testbed of this test, removed when dropped.
struct Named(String);

impl Named {
    fn new() -> Named {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Named(format!("c{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// A command of `quintet testbed` for it: its status and what it says.
    fn ask<const N: usize>(&self, words: [&str; N]) -> (i32, String) {
        result(self.start(words))
    }

    fn start<const N: usize>(&self, words: [&str; N]) -> quintet_testbed::Child {
        let program =
            quintet_testbed::Program::new(env!("CARGO_BIN_EXE_quintet")).arg("testbed").arg(words[0]);
        let program = program.arg("--name").arg(&self.0);
        words[1..].iter().fold(program, quintet_testbed::Program::arg).spawn().expect("it starts")
    }

    /// The same, and it goes well.
    fn does<const N: usize>(&self, words: [&str; N]) -> String {
        let (code, said) = self.ask(words);
        assert_eq!(code, 0, "{words:?}: {said}");
        said
    }

    fn shown(&self) -> Value {
        let said = self.does(["show", "--json"]);
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    /// A line, from one machine to another.
    fn line(&self, from: &str, to: &str) -> Value {
        let shown = self.shown();
        let lines = shown["lines"].as_array().expect("a list");
        lines.iter().find(|line| line["from"] == from && line["to"] == to).expect("it is one").clone()
    }

    /// The process that carries packets.
    fn switch(&self) -> Option<u32> {
        let numbers = std::fs::read_dir("/proc").unwrap().flatten();
        let mut numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.find(|number: &u32| {
            let words = std::fs::read_to_string(format!("/proc/{number}/cmdline")).unwrap_or_default();
            words.contains("testbed\0switch\0") && words.ends_with(&format!("/{}\0", self.0))
        })
    }

    fn namespace(&self, machine: &str) -> String {
        format!("/run/netns/quintet.{}.{machine}", self.0)
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        // Of a test that went well nothing is left.
        let _ = result(self.start(["down"]));
    }
}

/// Whether machines are namespaces here. Where they are not, the reason is printed.
fn has_namespaces() -> bool {
    let refused = namespaces_refused();
    if let Some(why) = &refused {
        println!("skipped: no network namespaces here: {why}");
    }
    refused.is_none()
}

#[test]
fn a_testbed_is_made_shown_and_removed_without_a_trace() {
    if !has_namespaces() {
        return;
    }
    let testbed = Named::new();
    let made: Value =
        serde_json::from_str(&testbed.does(["up", "--json", "a", "b", "c"])).expect("an object");
    assert_eq!((&made["mode"], made["machines"].as_array().map(Vec::len)), (&json!("namespaces"), Some(3)));
    let (code, said) = testbed.ask(["up", "a"]);
    assert!(code == 65 && said.contains("is up already") && said.contains(&testbed.0), "{said}");

    let folder = made["machines"][0]["folder"].as_str().expect("a text");
    let said =
        testbed.does(["exec", "a", "--", "sh", "-c", "hostname; echo $HOME; echo $QUINTET_MACHINE_ADDRESS"]);
    let address = made["machines"][0]["address"].as_str().expect("a text");
    assert_eq!(said, format!("a\n{folder}/home\n{address}"));
    assert_eq!(testbed.ask(["exec", "b", "--", "sh", "-c", "exit 7"]).0, 7);
    let (code, said) = testbed.ask(["exec", "d", "--", "true"]);
    assert!(code == 65 && said.contains("no machine \"d\": it has a, b, c"), "{said}");

    let quintet = env!("CARGO_BIN_EXE_quintet");
    for words in [["kill", "a"], ["up", "d"], ["down", "--json"]] {
        let (code, said) =
            testbed.ask(["exec", "b", "--", quintet, "testbed", words[0], words[1], "--name", &testbed.0]);
        assert!(code == 77 && said.contains("from outside"), "{said}");
    }

    let sleep = testbed.start(["exec", "c", "--", "sleep", "1000"]);
    wait_until(|| testbed.shown()["machines"][2]["processes"] == 1);
    let switch = testbed.switch().expect("it carries packets");
    let said = testbed.does(["down"]);
    assert!(said.starts_with("removed, with all that ran there: "), "{said}");
    wait_until_gone(&[switch, sleep.id()]);
    let left = ["a", "b", "c"].iter().any(|machine| Path::new(&testbed.namespace(machine)).exists());
    assert!(!left && !Path::new(folder).exists());
    let (code, said) = testbed.ask(["show"]);
    assert!(code == 69 && said.contains("no testbed named"), "{said}");
    assert_eq!(testbed.ask(["down"]).0, 69);
}

#[test]
fn lines_are_made_worse_and_healed() {
    if !has_namespaces() {
        return;
    }
    let testbed = Named::new();
    testbed.does(["up", "a", "b", "c"]);
    testbed.does(["slow", "a", "b", "--delay", "20ms", "--jitter", "5ms"]);
    testbed.does(["lose", "b", "--one-way", "--loss", "30%"]);
    testbed.does(["reorder", "a", "c", "--part", "10%", "--by", "2ms"]);
    testbed.does(["rate", "c", "a", "--rate", "1MB/s", "--queue", "16KiB"]);
    testbed.does(["cut", "b", "c", "--one-way"]);
    let line = testbed.line("b", "a");
    let said = ["delay_us", "jitter_us", "loss_per_million", "cut"].map(|name| &line[name]);
    assert_eq!(said, [&json!(20_000.0), &json!(5_000.0), &json!(300_000), &json!(false)]);
    assert_eq!(testbed.line("a", "b")["loss_per_million"], 0);
    let line = testbed.line("a", "c");
    let said =
        ["reorder_per_million", "reorder_by_us", "bytes_per_second", "queue_bytes"].map(|name| &line[name]);
    assert_eq!(said, [&json!(100_000), &json!(2_000.0), &json!(1_000_000), &json!(16_384)]);
    assert_eq!(
        (&testbed.line("b", "c")["cut"], &testbed.line("c", "b")["cut"]),
        (&json!(true), &json!(false))
    );
    let table = testbed.does(["show"]);
    let words = [
        "20ms late, up to 5ms more; 30 % lost",
        "10 % reordered by 2ms",
        "1000000 B/s, 16384 B wait",
        "cut; 30 % lost",
    ];
    assert!(words.iter().all(|words| table.contains(words)), "{table}");

    testbed.does(["heal", "a", "b"]);
    assert_eq!(testbed.line("b", "a")["loss_per_million"], 0);
    assert_eq!(testbed.line("b", "c")["cut"], true, "others stay");
    testbed.does(["heal"]);
    assert_eq!(testbed.does(["show"]).matches("nothing").count(), 6);
    testbed.does(["down"]);
}

#[test]
fn machines_freeze_and_are_killed_and_change_their_addresses() {
    if !has_namespaces() {
        return;
    }
    let testbed = Named::new();
    testbed.does(["up", "a", "b"]);
    let mut sleep = testbed.start(["exec", "a", "--", "sleep", "1000"]);
    wait_until(|| testbed.shown()["machines"][0]["state"] == "running");
    testbed.does(["freeze", "a"]);
    assert_eq!((state(sleep.id()), &testbed.shown()["machines"][0]["state"]), (Some('T'), &json!("frozen")));
    testbed.does(["thaw", "a"]);
    assert_eq!(testbed.shown()["machines"][0]["state"], "running");
    testbed.does(["kill", "a"]);
    assert!(!is_alive(sleep.id()));
    sleep.wait(LONG).expect("it can be waited for").expect("it ended");
    assert_eq!(testbed.shown()["machines"][0]["state"], "idle");
    let shown = testbed.shown();
    let (network, _) =
        shown["machines"][0]["address"].as_str().and_then(|text| text.rsplit_once('.')).expect("a text");
    let address = format!("{network}.99");
    testbed.does(["readdress", "a", &address]);
    assert_eq!(testbed.shown()["machines"][0]["address"], address.as_str());
    let said = testbed.does(["exec", "a", "--", "ip", "-brief", "-4", "address", "show", "eth0"]);
    assert!(said.contains(&format!("{address}/24")), "{said}");
    testbed.does(["down"]);
}

#[test]
fn a_switch_that_was_killed_is_told_of() {
    if !has_namespaces() {
        return;
    }
    let testbed = Named::new();
    testbed.does(["up", "a", "b"]);
    let switch = testbed.switch().expect("it carries packets");
    assert!(std::process::Command::new("kill").args(["-9", &switch.to_string()]).status().unwrap().success());
    wait_until_gone(&[switch]);
    let table = testbed.does(["show"]);
    assert!(table.contains("its switch has ended") && table.contains("no network"), "{table}");
    assert_eq!(testbed.shown()["has_switch"], false);
    let (code, said) = testbed.ask(["cut", "a"]);
    assert!(code == 69 && said.contains("quintet testbed down --name"), "{said}");
    testbed.does(["down"]);
    assert!(!Path::new(&testbed.namespace("a")).exists());
}

/// Beside folders of its own for testbeds, so that those of other tests stay.
#[test]
fn all_are_removed_but_those_of_running_programs() {
    if !has_namespaces() {
        return;
    }
    let script = r#"
        set -e
        mount -t tmpfs none /mnt; cp "$0" /mnt/quintet; quintet=/mnt/quintet
        mount -t tmpfs none /tmp; mkdir -p /run/netns; mount -t tmpfs none /run/netns
        $quintet testbed up --name one a b >/tmp/said
        $quintet testbed up --name other --loopback a >/tmp/said
        cd /tmp/quintet-testbed-0
        mkdir half mine
        owner="{\"number\":$$,\"started\":$(cut -d' ' -f22 /proc/$$/stat)}"
        sed "s/\"other\"/\"mine\"/; s/\"owner\":null/\"owner\":$owner/" other/testbed.json >mine/testbed.json
        $quintet testbed down --all --json
        ls /run/netns /tmp/quintet-testbed-0"#;
    let mut command = std::process::Command::new("unshare");
    let command = command.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_quintet")]);
    let done = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&done.stdout);
    let (object, left) = said.split_once('\n').unwrap_or_else(|| panic!("{done:?}"));
    let object: Value = serde_json::from_str(object).unwrap_or_else(|error| panic!("{error}: {done:?}"));
    assert_eq!(object, json!({"removed": ["half", "one", "other"], "left": ["mine"]}));
    assert_eq!(left, "/run/netns:\n\n/tmp/quintet-testbed-0:\nmine\n");
    assert!(String::from_utf8_lossy(&done.stderr).contains("left to the running programs"), "{done:?}");
}

#[test]
fn without_namespaces_machines_are_addresses_of_the_loopback() {
    let testbed = Named::new();
    let made: Value =
        serde_json::from_str(&testbed.does(["up", "--loopback", "--json", "a", "b"])).expect("an object");
    assert_eq!((&made["mode"], &made["machines"][0]["namespace"]), (&json!("loopback"), &Value::Null));
    let said = testbed.does(["exec", "b", "--", "sh", "-c", "echo $QUINTET_MACHINE_ADDRESS"]);
    assert!(said == made["machines"][1]["address"].as_str().unwrap() && said.starts_with("127."), "{said}");
    let (code, said) = testbed.ask(["cut", "a"]);
    assert!(code == 77 && said.contains("needs network namespaces"), "{said}");
    let (code, said) = testbed.ask(["exec", "a", "--", "no-such-program"]);
    assert!(code == 71 && said.contains("no-such-program cannot be started"), "{said}");
    let mut sleep = testbed.start(["exec", "a", "--", "sleep", "1000"]);
    wait_until(|| testbed.shown()["machines"][0]["processes"] == 1);
    testbed.does(["kill", "a"]);
    assert!(!is_alive(sleep.id()));
    sleep.wait(LONG).expect("it can be waited for").expect("it ended");
    testbed.does(["down"]);
}

#[test]
fn what_is_missing_for_namespaces_is_said() {
    let testbed = Named::new();
    let (code, said) = result(start(["testbed", "up", "--name", &testbed.0, "a"], &[("PATH", "/nowhere")]));
    assert!(code == 0 && said.contains("no network namespaces here: "), "{said}");
    if has_namespaces() {
        assert!(said.contains("install the package iproute2"), "{said}");
    }
    assert!(said.contains("127.77.") && said.contains("cannot be cut"), "{said}");
    testbed.does(["down"]);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_made() {
    for words in [
        ["testbed", "up", "a", "b/c"],
        ["testbed", "up", "a", "a"],
        ["testbed", "up", "--packet-bytes=9", "a"],
        ["testbed", "up", "--name=.", "a"],
    ] {
        let (code, said) = result(quintet(words));
        assert_eq!(code, 65, "{words:?}: {said}");
    }
    for words in [
        ["testbed", "slow", "a", "--delay=20"],
        ["testbed", "lose", "a", "--loss=101%"],
        ["testbed", "rate", "a", "--rate=10MB"],
        ["testbed", "readdress", "a", "b"],
    ] {
        let (code, said) = result(quintet(words));
        assert!(code == 64 && said.contains("expected"), "{words:?}: {said}");
    }
}
