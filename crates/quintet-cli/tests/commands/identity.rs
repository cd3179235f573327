//! `init`, `identity issue`, and what they are for: a space that is served over TLS.

use crate::tool::{LONG, quintet, result, start, text};
use quintet_testbed::{Child, TempDir};
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn object(said: &str) -> Value {
    serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// A cluster of that name.
fn cluster(folder: &TempDir, name: &str) -> PathBuf {
    let at = folder.join(name);
    let (code, said) = result(quintet(["init", name, "--dir", text(&at), "--machine", "a"]));
    assert_eq!(code, 0, "{said}");
    at
}

/// A space that is served over TLS, and its address.
fn served(identity: &Path) -> (Child, String) {
    let server =
        start(["serve", "--listen", "tls:127.0.0.1:0", "--json"], &[("QUINTET_IDENTITY", text(identity))]);
    let ready = server.output().next_line(LONG).expect("it says that it serves");
    let address = object(&ready)["addresses"][0].as_str().expect("a text").to_owned();
    assert!(address.starts_with("tls:127.0.0.1:") && !address.ends_with(":0"), "{ready}");
    (server, address)
}

fn status(address: &str, identity: &Path) -> (i32, String) {
    result(start(["status", "--space", address, "--json"], &[("QUINTET_IDENTITY", text(identity))]))
}

#[test]
fn a_space_with_replicas_that_are_reached_over_tls_is_shown_to_its_cluster() {
    let folder = TempDir::new().unwrap();
    let lab = cluster(&folder, "lab");
    // Free ports, until the servers take them.
    let free = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let places = free.map(|free| format!("tls:{}", free.local_addr().unwrap())).join(",");
    let replicas: Vec<Child> = ["1", "2", "3"]
        .map(|number| {
            let log = folder.join(number);
            let words = ["serve", "--policy", "replicated", "--replica", number, "--replicas", &places];
            let words = words.into_iter().chain(["--log-dir", text(&log)]);
            start(words, &[("QUINTET_IDENTITY", text(&lab))])
        })
        .into();
    replicas[0].output().wait_for("serving at", LONG).expect("all are there");
    let (code, said) = status(&format!("quintet://{places}"), &lab);
    assert_eq!((code, object(&said)["replicas"].as_array().map(Vec::len)), (0, Some(3)), "{said}");
    assert!(said.contains("\"leads\"") && !said.contains("identity"), "{said}");
    let (code, said) = result(quintet(["status", "--space", &format!("quintet://{places}")]));
    assert!(code == 77 && said.contains("needs an identity"), "{said}");
}

#[test]
fn what_a_terminal_would_obey_is_escaped_in_the_object_of_a_new_cluster() {
    let folder = TempDir::new().unwrap();
    let at = folder.join("a\u{9b}2K\u{202e}b");
    let (code, said) = result(quintet(["init", "lab", "--dir", text(&at), "--machine", "a", "--json"]));
    assert!(
        code == 0 && said.contains("a\\u009b2K\\u202eb") && !said.contains(['\u{9b}', '\u{202e}']),
        "{said}"
    );
    assert!(object(&said)["path"].as_str().expect("a text").starts_with(text(&at)), "{said}");
}

#[test]
fn a_cluster_is_made_once_and_lets_its_members_in() {
    let folder = TempDir::new().unwrap();
    let lab = cluster(&folder, "lab");
    let (code, said) = result(quintet(["init", "lab", "--dir", text(&lab)]));
    assert!(
        code == 65 && said.contains("is there already: this machine belongs to that cluster as a"),
        "{said}"
    );

    let member = folder.join("b.identity");
    let issue =
        ["identity", "issue", "--cluster", text(&lab), "--name", "b", "--out", text(&member), "--json"];
    let (code, said) = result(quintet(issue));
    assert_eq!((code, &object(&said)["days"]), (0, &90.into()), "{said}");
    let (server, address) = served(&lab);
    for identity in [&lab, &member] {
        let (code, said) = status(&address, identity);
        assert_eq!((code, &object(&said)["tuples"]), (0, &0.into()), "{said}");
    }
    server.terminate().unwrap();
    assert_eq!(result(server).0, 0);
}

#[test]
fn who_has_no_identity_of_the_cluster_is_refused_with_what_to_do() {
    let folder = TempDir::new().unwrap();
    let (lab, other) = (cluster(&folder, "lab"), cluster(&folder, "other"));
    let (server, address) = served(&lab);
    let (code, said) = status(&address, &other);
    assert!(code == 77 && said.contains("use identities of one cluster on both sides"), "{said}");
    let (code, said) = result(quintet(["status", "--space", &address]));
    assert!(code == 77 && said.contains("quintet init NAME") && said.contains("cluster.identity"), "{said}");
    let plain = address.replace("tls:", "tcp:");
    let (code, said) = result(quintet(["status", "--space", &plain]));
    assert!(code == 65 && said.contains("write tls: instead of tcp:"), "{said}");
    server.terminate().unwrap();
    let (_, said) = result(server);
    assert!(said.contains("does not know the authority"), "the server tells of it: {said}");

    let (code, said) = result(quintet(["serve", "--listen", "tls:127.0.0.1:0"]));
    assert!(code == 77 && said.contains("a tls: link needs an identity"), "{said}");
    let (code, said) = result(quintet(["serve", "--listen", "tcp:0.0.0.0:0"]));
    assert!(code == 77 && said.contains("use tls: with an identity"), "{said}");
}

#[test]
fn an_identity_that_others_may_read_is_refused_and_no_key_is_ever_shown() {
    let folder = TempDir::new().unwrap();
    let lab = cluster(&folder, "lab");
    let machine = lab.join("machine.identity");
    let identity = fs::read_to_string(&machine).unwrap();
    let key = identity.lines().skip_while(|line| !line.contains("BEGIN PRIVATE KEY")).nth(1).unwrap();
    fs::set_permissions(&machine, fs::Permissions::from_mode(0o644)).unwrap();
    let (code, open) = status("tls:127.0.0.1:1", &lab);
    assert!(code == 77 && open.contains(&format!("chmod 600 {}", machine.display())), "{open}");
    fs::set_permissions(&machine, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&machine, identity.replace("BEGIN CERTIFICATE", "BEGIN NONSENSE")).unwrap();
    let (code, damaged) = status("tls:127.0.0.1:1", &lab);
    assert!(code == 65 && damaged.contains("this is no identity"), "{damaged}");
    let (code, missing) = status("tls:127.0.0.1:1", &folder.join("nowhere"));
    assert!(code == 65 && missing.contains("there is no identity at"), "{missing}");
    assert!(missing.contains("with a slash in it"), "{missing}");
    for said in [open, damaged, missing] {
        assert!(!said.contains(key), "{said}");
    }
}

#[test]
fn a_name_leads_to_the_folder_below_this_users_configuration() {
    let folder = TempDir::new().unwrap();
    let configuration = [("XDG_CONFIG_HOME", text(folder.path()))];
    let (code, said) = result(start(["init", "lab", "--machine", "a"], &configuration));
    assert!(
        code == 0 && said.contains("this machine: quintet up lab") && said.contains("quintet join lab@"),
        "{said}"
    );
    let mode = fs::metadata(folder.join("quintet").join("lab")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let named = [configuration[0], ("QUINTET_IDENTITY", "lab")];
    let (code, said) = result(start(["status", "--space", "tls:127.0.0.1:1"], &named));
    assert!(code == 69 && said.contains("nobody listens there"), "{said}");
    let issue = ["identity", "issue", "--cluster", "other", "--name", "b", "--out", "b.identity"];
    let (code, said) = result(start(issue, &configuration));
    assert!(code == 65 && said.contains("/quintet/other: there is no key of an authority"), "{said}");
    for bad in ["..", "a b", ""] {
        let (code, said) = result(start(["init", bad], &configuration));
        assert!(code == 65 && said.contains("is no name"), "{said}");
    }
}
