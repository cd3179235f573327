//! `token`, and the token that `init` makes.

use crate::tool::{quintet, result, start, text};
use quintet_testbed::TempDir;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn object(said: &str) -> Value {
    serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// A cluster, and what was said when it was made.
fn cluster(folder: &TempDir) -> (PathBuf, Value) {
    let at = folder.join("lab");
    let (code, said) = result(quintet(["init", "lab", "--dir", text(&at), "--machine", "a", "--json"]));
    assert_eq!(code, 0, "{said}");
    (at, object(&said))
}

fn list(lab: &Path) -> Vec<Value> {
    let (code, said) = result(quintet(["token", "list", "--cluster", text(lab), "--json"]));
    assert_eq!(code, 0, "{said}");
    object(&said).as_array().expect("a list").clone()
}

/// Everything that any file below that folder says.
fn all_text(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| if path.is_dir() { all_text(&path) } else { fs::read_to_string(path).unwrap() })
        .collect()
}

#[test]
fn a_new_cluster_has_a_token_that_is_shown_once() {
    let folder = TempDir::new().unwrap();
    let (lab, made) = cluster(&folder);
    let token: quintet_identity::Token = made["token"].as_str().expect("a text").parse().expect("a token");
    let tokens = list(&lab);
    assert_eq!(
        (tokens.len(), &tokens[0]["id"], &tokens[0]["state"]),
        (1, &made["id"], &"outstanding".into())
    );
    assert_eq!(tokens[0]["allows"], Value::from(vec!["join"]), "and nothing more");
    let (until, made_at) = (tokens[0]["valid_until"].as_u64(), tokens[0]["made_at"].as_u64());
    assert_eq!(until, made_at.map(|made_at| made_at + 24 * 60 * 60));
    let name = made["cluster"].as_str().expect("a text");
    assert_eq!(format!("{:032x}.quintet.internal", token.cluster()), name);
    let seed = token.text().replace('-', "")[40..56].to_owned();
    assert!(!all_text(&lab).replace('-', "").contains(&seed), "it stands in no file");

    let (code, said) = result(quintet(["init", "lab", "--dir", text(&folder.join("other"))]));
    assert!(code == 0 && said.contains("once and within 24 hours: quintet join other@"), "{said}");
    assert!(said.contains(":7400 "), "{said}");
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let folder = TempDir::new().unwrap();
    let (lab, _) = cluster(&folder);
    let (lab_text, note) = (text(&lab), "for b");
    let (code, said) = result(quintet([
        "token",
        "create",
        "--cluster",
        lab_text,
        "--allow",
        "code,join",
        "--valid",
        "30m",
        "--note",
        note,
    ]));
    assert!(code == 0 && said.contains("allows join,code, once, for 30 min"), "{said}");
    let id = said.split(':').next().expect("its name").to_owned();
    let (code, shown) = result(quintet(["token", "list", "--cluster", text(&lab)]));
    let row = shown.lines().find(|line| line.starts_with(&id)).expect("it is listed");
    assert!(code == 0 && row.contains("outstanding") && row.ends_with("for b"), "{shown}");
    assert!(shown.lines().next().is_some_and(|line| line.starts_with("id ")), "{shown}");

    let (code, said) = result(quintet(["token", "revoke", &id[..8], "--cluster", text(&lab)]));
    assert_eq!((code, said), (0, format!("{id}: revoked")));
    let state =
        |id: &str| list(&lab).into_iter().find(|token| token["id"] == id).map(|token| token["state"].clone());
    assert_eq!(state(&id), Some("revoked".into()));
    let (code, said) = result(quintet(["token", "revoke", &id, "--cluster", text(&lab), "--json"]));
    assert!(code == 77 && said.contains("the token was revoked"), "{said}");
    let (code, said) = result(quintet(["token", "revoke", "0000000000000000", "--cluster", text(&lab)]));
    assert!(code == 77 && said.contains("quintet token list"), "{said}");
}

#[test]
fn a_token_names_the_machine_whose_agent_knows_it() {
    let folder = TempDir::new().unwrap();
    let (lab, made) = cluster(&folder);
    let node =
        |made: &Value| made["token"].as_str().unwrap().parse::<quintet_identity::Token>().unwrap().node();
    assert_eq!(node(&made), 0);
    let agent = lab.join("agent.toml");
    let create = || result(quintet(["token", "create", "--cluster", text(&lab), "--json"]));
    fs::write(&agent, "address = \"a:7400\"\nnode = 7\n").unwrap();
    fs::set_permissions(&agent, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let (code, said) = create();
    assert_eq!((code, node(&object(&said))), (0, 7), "{said}");
    assert!(
        object(&said)["join"].as_str().is_some_and(|join| join.starts_with("quintet join lab@")),
        "{said}"
    );
    fs::write(&agent, "node = 70000\n").unwrap();
    let (code, said) = create();
    assert!(code == 65 && said.contains("does not say which node"), "{said}");
}

#[test]
fn the_only_cluster_of_this_user_needs_no_name() {
    let folder = TempDir::new().unwrap();
    let configuration = [("XDG_CONFIG_HOME", text(folder.path()))];
    let (code, said) = result(start(["token", "list"], &configuration));
    assert!(code == 65 && said.contains("quintet init NAME"), "{said}");
    assert_eq!(result(start(["init", "lab", "--machine", "a"], &configuration)).0, 0);
    let (code, said) = result(start(["token", "create"], &configuration));
    assert!(code == 0 && said.contains("quintet join lab@"), "{said}");
    assert_eq!(result(start(["init", "other", "--machine", "a"], &configuration)).0, 0);
    let (code, said) = result(start(["token", "create"], &configuration));
    assert!(code == 65 && said.contains("say which with --cluster NAME"), "{said}");
}

#[test]
fn what_cannot_be_made_is_refused_with_what_to_write() {
    let folder = TempDir::new().unwrap();
    let (lab, _) = cluster(&folder);
    let create = |option, value| result(quintet(["token", "create", "--cluster", text(&lab), option, value]));
    let cases = [
        ("--allow", "everything", 64, "write join, run, code"),
        ("--valid", "1w", 64, "24h for example"),
        ("--valid", "0h", 64, "24h for example"),
        ("--valid", "400d", 65, "for a year at most"),
        ("--note", "a\"b", 65, "without quotes"),
    ];
    for (option, value, expected, words) in cases {
        let (code, said) = create(option, value);
        assert!(code == expected && said.contains(words), "{said}");
    }
    assert_eq!(list(&lab).len(), 1, "nothing was made");
    fs::remove_file(lab.join("authority.key")).unwrap();
    let (code, said) = create("--valid", "1h");
    assert!(code == 65 && said.contains("where the cluster was made"), "{said}");
}
