//! Keys and tokens stand where they have to be, and nowhere else: not in what commands and agents say, not in logs, errors and `Debug` texts, not in
//! recordings, in whatever way bytes can be written.

use crate::hosts::lab::Machines;
use crate::tool::{LONG, result, text};
use quintet_identity::Token;
use quintet_link::{Credentials, LinkAddress};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Something secret: what it is, and its bytes.
struct Secret {
    what: String,
    bytes: Vec<u8>,
}

impl Secret {
    /// Every way in which the bytes may be written.
    fn forms(&self) -> Vec<(&'static str, Vec<u8>)> {
        let hex = |upper: bool, between: &str| {
            let digits = |byte: &u8| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
            self.bytes.iter().map(digits).collect::<Vec<_>>().join(between).into_bytes()
        };
        let list = format!("{:?}", self.bytes);
        let mut forms = vec![
            ("raw", self.bytes.clone()),
            ("hexadecimal", hex(false, "")),
            ("upper hexadecimal", hex(true, "")),
            ("hexadecimal with spaces", hex(false, " ")),
            ("hexadecimal with colons", hex(false, ":")),
            ("list", list.trim_matches(['[', ']']).as_bytes().to_vec()),
        ];
        // Behind so many other bytes; without the characters that those have a part in.
        for before in 0..3 {
            let whole = base64(&[&vec![0; before], &self.bytes[..]].concat());
            let from = [0, 2, 3][before];
            let until = (before + self.bytes.len()) * 8 / 6;
            forms.push(("base64", whole[from..until].to_vec()));
            let url = |byte: &u8| match byte {
                b'+' => b'-',
                b'/' => b'_',
                other => *other,
            };
            forms.push(("base64 of addresses", whole[from..until].iter().map(url).collect()));
        }
        forms
    }

    /// In which way it stands in these bytes, if it does.
    fn stands_in(&self, bytes: &[u8]) -> Option<&'static str> {
        // Long texts are broken into lines.
        let unbroken: Vec<u8> = bytes.iter().copied().filter(|byte| !b"\r\n".contains(byte)).collect();
        let is_in = |form: &[u8], bytes: &[u8]| bytes.windows(form.len()).any(|window| window == form);
        let found = self.forms().into_iter().find(|(_, form)| is_in(form, bytes) || is_in(form, &unbroken));
        found.map(|(way, _)| way)
    }
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    let group = |group: &[u8]| {
        let number =
            (0..3).fold(0, |number, at| number << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        [18, 12, 6, 0].map(|shift| BASE64[(number >> shift) as usize & 63])
    };
    bytes.chunks(3).flat_map(group).collect()
}

fn of_base64(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text
        .bytes()
        .filter_map(|byte| BASE64.iter().position(|digit| *digit == byte))
        .map(|digit| u32::try_from(digit).expect("a digit"))
        .collect();
    let group = |group: &[u32]| {
        let number =
            (0..4).fold(0u32, |number, at| number << 6 | group.get(at).copied().unwrap_or(0)).to_be_bytes();
        number[1..group.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

/// The secret number of the private key in a text: 32 bytes behind their tag and length (RFC 5915, RFC 8410).
fn key_in(what: &str, text: &str) -> Secret {
    let begin = text.find("PRIVATE KEY-----").expect("a private key") + "PRIVATE KEY-----".len();
    let end = text[begin..].find("-----END").expect("its end") + begin;
    let der = of_base64(&text[begin..end]);
    // What stands before it is the same in every key; behind it, and within, these two bytes may be there by chance.
    let at = der.windows(2).position(|tag| tag == [0x04, 0x20]).expect("a key of 32 bytes");
    Secret { what: what.to_owned(), bytes: der[at + 2..at + 34].to_vec() }
}

/// What of a token is secret: its text, its random bytes, and the key that both sides derive.
fn of_token(what: &str, text: &str) -> Vec<Secret> {
    let token: Token = text.parse().expect("a token");
    let letters: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    let bits: Vec<bool> = letters
        .bytes()
        .map(|letter| if letter.is_ascii_lowercase() { letter - b'a' } else { letter - b'2' + 26 })
        .flat_map(|digit| (0..5).rev().map(move |bit| digit >> bit & 1 == 1))
        .collect();
    let bytes: Vec<u8> = bits
        .chunks_exact(8)
        .map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit)))
        .collect();
    let named = |part: &str, bytes: &[u8]| Secret { what: format!("{what}: {part}"), bytes: bytes.to_vec() };
    // Its version, the cluster's number and the machine's stand in front.
    vec![
        // Also where a letter of the first group was mistyped.
        named("its text", &text.as_bytes()[7..]),
        named("its letters", &letters.as_bytes()[6..]),
        named("its random bytes", &bytes[19..35]),
        key_in(&format!("{what}: its key"), &token.key().expect("it has one")),
    ]
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files_below(&entry.path()),
        Ok(kind) if kind.is_file() => vec![entry.path()],
        _ => vec![],
    };
    entries.flat_map(below).collect()
}

/// Where keys have to be.
fn holds_a_key(path: &Path) -> bool {
    ["machine.identity", "authority.key"]
        .iter()
        .any(|name| path.file_name().is_some_and(|file| file == *name))
}

fn is_refused(lab: &Machines, words: &[&str], said: &mut Vec<(String, Vec<u8>)>) {
    let (code, text) = result(lab.command("b", words));
    assert_ne!(code, 0, "{words:?}: {text}");
    said.push((format!("{words:?}"), text.into_bytes()));
}

#[test]
fn keys_and_tokens_stand_in_nothing_that_is_said_logged_or_recorded() {
    let mut lab = Machines::up(&["a", "b"]);
    let (a, b) = (lab.folder("a"), lab.folder("b"));
    let create = ["token", "create", "--json", "--cluster", text(&a)];
    let made: Value = serde_json::from_str(&lab.does("a", &create)).expect("an object");
    let token = made["token"].as_str().expect("a text").to_owned();
    let read = |path: PathBuf| fs::read_to_string(path).expect("it is there");
    let mut secrets = vec![
        key_in("a's key", &read(a.join("machine.identity"))),
        key_in("b's key", &read(b.join("machine.identity"))),
        key_in("the authority's key", &read(a.join("authority.key"))),
    ];
    secrets.extend(of_token("a token", &token));
    // The search finds what is there.
    for (path, secret) in [(a.join("machine.identity"), &secrets[0]), (a.join("authority.key"), &secrets[2])]
    {
        assert_eq!(
            secret.stands_in(&fs::read(path).expect("it is there")),
            Some("base64"),
            "{}",
            secret.what
        );
    }
    assert_eq!(secrets[3].stands_in(format!("{token}\n").as_bytes()), Some("raw"));

    let mut said: Vec<(String, Vec<u8>)> = Vec::new();
    let place = read(a.join("place"));
    let at = format!("lab@{place}");
    let c = lab.room.join("c");
    let join = |token: &str, name: &'static str| {
        ["join", &at, token, "--name", name, "--dir", text(&c), "--listen", "127.0.0.1:1", "--no-up"]
            .map(str::to_owned)
    };
    let asked = |words: &[String], lab: &Machines| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        result(lab.command("b", &words))
    };
    // Mistyped, for a name that is taken, good, used.
    let mistyped = format!("{}{}", if token.starts_with('a') { "b" } else { "a" }, &token[1..]);
    let tries = [(&mistyped, "c", false), (&token, "a", false), (&token, "c", true), (&token, "d", false)];
    for (token, name, joins) in tries {
        let (code, text) = asked(&join(token, name), &lab);
        assert_eq!(code == 0, joins, "{text}");
        said.push((format!("join as {name}"), text.into_bytes()));
        if joins {
            secrets.push(key_in("c's key", &read(c.join("machine.identity"))));
            fs::rename(&c, lab.room.join("joined")).expect("it is there");
        }
    }
    let list = ["token", "list", "--cluster", text(&a)];
    let listed = [&list[..], &["--json"]].concat();
    for words in [&list[..], &listed, &["status"], &["status", "--json"], &["doctor"]] {
        said.push((format!("{words:?}"), lab.does("a", words).into_bytes()));
    }
    said.push(("rotate".to_owned(), lab.does("b", &["rotate", "--json"]).into_bytes()));
    // A space over TLS, which records all that goes through it.
    let record = lab.room.join("recording");
    let serve = ["serve", "--listen", "tls:127.0.0.1:0", "--json", "--record", text(&record)];
    let server = lab.command("a", &serve);
    let ready: Value =
        serde_json::from_str(&server.output().next_line(LONG).expect("it serves")).expect("an object");
    let address = ready["addresses"][0].as_str().expect("a text").to_owned();
    said.push((
        "status of a space".to_owned(),
        lab.does("b", &["status", "--space", &address, "--json"]).into_bytes(),
    ));
    is_refused(&lab, &["status", "--space", &address.replace("tls:", "tcp:")], &mut said);
    server.terminate().expect("it runs");
    said.push(("serve".to_owned(), result(server).1.into_bytes()));
    assert!(fs::metadata(&record).expect("it was recorded").len() > 0);
    // What cannot be read is not shown.
    let identity = read(b.join("machine.identity"));
    fs::write(lab.room.join("damaged"), identity.replace("BEGIN CERTIFICATE", "BEGIN NONSENSE"))
        .expect("written");
    let damaged = lab.room.join("damaged");
    rustix::fs::chmod(&damaged, rustix::fs::Mode::from_raw_mode(0o600)).expect("it is there");
    let address = ["status", "--space", &address, "--set", &format!("cluster.identity={}", text(&damaged))];
    is_refused(&lab, &address, &mut said);
    fs::remove_file(&damaged).expect("it is there");
    // Texts for people who look for a defect.
    let credentials = Credentials::from_pem(identity.as_bytes()).expect("it is valid");
    let parsed: Token = token.parse().expect("it is one");
    let address: LinkAddress = format!("tls:{place}").parse().expect("an address");
    let address = address.identified(Some(&credentials));
    let mistyped = mistyped.parse::<Token>().expect_err("it is none");
    let shown = format!("{credentials:#?} {parsed:?} {address:?} {address} {mistyped:?} {mistyped}");
    said.push(("Debug texts".to_owned(), shown.into_bytes()));
    for name in ["a", "b"] {
        said.push((format!("the agent of {name}"), lab.agent(name).output().text().into_bytes()));
        lab.kill(name);
    }
    let files = files_below(lab.room.path()).into_iter().filter(|path| !holds_a_key(path));
    said.extend(files.map(|path| (path.display().to_string(), fs::read(path).expect("it can be read"))));
    for secret in &secrets {
        for (where_it_stands, bytes) in &said {
            // Whoever typed a token sees it in the command, not in what that says.
            let way = secret.stands_in(bytes);
            assert_eq!(way, None, "{} stands in {where_it_stands}", secret.what);
        }
    }
    assert!(said.len() > 25, "logs, records and recordings were looked at: {}", said.len());
}
