//! The record of refusals: who wanted what, from where, and why that was refused. A file for programs, a JSON object a line.
//!
//! ```text
//! {"time":"2026-11-22T14:18:41Z","what":"connection","from":"10.1.0.9:51234","identity":null,"name":null,"code":"WrongCluster","text":"...","times":1}
//! ```
//!
//! Where it came from is that of the connection; of what is asked over one that was accepted, that of the newest connection of the identity
//! that asks, or where this machine has dialled it.
//!
//! The same refusal of the same asker is told once, and then with its count, so that nobody fills a disk or hides somebody else by asking
//! again and again.

use crate::log::{Entry, LONGEST, LineFile, Log, rfc_3339};
use crate::notice::{Notice, Refused};
use crate::record::Record;
use crate::{AgentError, Told};
use quintet_contract::Identity;
use quintet_errors::Code;
use quintet_runtime::Event;
use serde_json::json;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// Characters of a refusal's words, and of a name, that are kept.
const LONGEST_TEXT: usize = 300;

/// A refusal.
struct Refusal {
    time: SystemTime,
    refused: Refused,
    times: u64,
}

/// Writes down the refusals among what an agent has to tell.
#[derive(Clone)]
pub(crate) struct Audit(Arc<Log<Refusal>>);

impl Audit {
    /// That of the agent with this folder. `told` is told where it cannot be written.
    ///
    /// # Errors
    /// [`AgentError::System`].
    pub(crate) fn start(folder: &Path, told: Told) -> Result<Audit, AgentError> {
        let path = Record::audit(folder);
        let mut file = LineFile::new(&path, LONGEST);
        let shown = path.clone();
        let trouble = move |error: &std::io::Error| {
            let text = format!("refusals cannot be written to {}: {error}", shown.display());
            told(&Notice::Trouble { text });
        };
        let log =
            Log::start("quintet-audit", Box::new(move |line: String| file.append(&line)), Box::new(trouble));
        let log = log.map_err(|error| AgentError::system("start a thread for", &path, error))?;
        Ok(Audit(Arc::new(log)))
    }

    /// Hears everything that is told, before the other does.
    pub(crate) fn before(&self, told: Told) -> Told {
        let audit = self.clone();
        Arc::new(move |notice| {
            if let Some(refusal) = Refusal::of(notice, SystemTime::now()) {
                audit.0.tell(refusal);
            }
            told(notice);
        })
    }

    /// Writes what is left.
    pub(crate) fn finish(&self) {
        self.0.finish();
    }
}

impl Refusal {
    /// What of that is a refusal.
    fn of(notice: &Notice, time: SystemTime) -> Option<Refusal> {
        let (what, event) = match notice {
            Notice::NotEnrolled(refused)
            | Notice::NotLaunched(refused)
            | Notice::NotPut(refused)
            | Notice::NotUsed(refused) => {
                return Some(Refusal { time, refused: refused.clone(), times: 1 });
            }
            Notice::Host(event) => ("connection", event),
            Notice::Space(event) => ("space", event),
            _ => return None,
        };
        let (from, identity, text) = match event {
            Event::NotConnected { why, from, identity, .. } => (*from, *identity, why.to_string()),
            Event::NameRefused { identity, .. } => (None, *identity, notice.text()),
            // Whom others refuse stands in their logs.
            _ => return None,
        };
        let refused = Refused { what, from, identity, name: None, code: event.code(), text };
        Some(Refusal { time, refused, times: notice.times() })
    }
}

impl Entry for Refusal {
    type Key = (&'static str, Option<IpAddr>, Option<Identity>, Code);
    type Line = String;

    fn key(&self) -> Option<Self::Key> {
        let Refused { what, from, identity, code, .. } = &self.refused;
        Some((*what, from.map(|from| from.ip()), *identity, *code))
    }

    fn times(&self) -> u64 {
        self.times
    }

    fn line(&self, times: u64) -> String {
        let Refused { what, from, identity, name, code, text } = &self.refused;
        let cut = |text: &str| text.chars().take(LONGEST_TEXT).collect::<String>();
        let identity = identity.map(|identity| crate::record::hexadecimal(&identity));
        let (from, name) = (from.map(|from| from.to_string()), name.as_deref().map(cut));
        json!({
            "time": rfc_3339(self.time), "what": what, "from": from, "identity": identity, "name": name,
            "code": code.name(), "text": cut(text), "times": times,
        })
        .to_string()
    }

    fn line_of_others(count: u64) -> String {
        let text = "too many different ones to be told apart";
        let time = rfc_3339(SystemTime::now());
        json!({
            "time": time, "what": "others", "from": null, "identity": null, "name": null, "code": null,
            "text": text, "times": count,
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::NodeId;
    use quintet_link::{BootstrapError, LinkAddress, TlsFault};
    use std::time::{Duration, UNIX_EPOCH};

    fn knocks(from: [u8; 4], port: u16, before: u64) -> Notice {
        let why = BootstrapError::Malformed {
            address: LinkAddress::Tls { host: "a".to_owned(), port: 1, credentials: None },
            what: "garbage\n\"".repeat(1000),
        };
        let (from, identity) = (Some((from, port).into()), None);
        Notice::Host(Event::NotConnected { why, from, identity, before })
    }

    #[test]
    fn a_refusal_is_one_line_that_a_program_can_read() {
        let at = UNIX_EPOCH + Duration::from_secs(951_782_400);
        let refusal = Refusal::of(&knocks([10, 0, 0, 9], 77, 2), at).expect("it is one");
        let line = refusal.line(refusal.times());
        assert!(!line.contains('\n') && line.len() < 1000, "{line}");
        let object: serde_json::Value = serde_json::from_str(&line).expect("an object");
        let expected = json!({
            "time": "2000-02-29T00:00:00Z", "what": "connection", "from": "10.0.0.9:77", "identity": null,
            "name": null, "code": "Malformed", "text": object["text"], "times": 3,
        });
        assert_eq!(object, expected);
        assert!(object["text"].as_str().is_some_and(|text| text.contains("garbage\n\"")), "{line}");
        assert!(Refusal::of(&Notice::Ready, at).is_none());
    }

    #[test]
    fn who_is_not_heard_under_a_number_is_refused_and_who_turns_this_machine_away_is_not() {
        let identity = Some(Identity([7; 32]));
        let refused = Event::NameRefused { peer: NodeId(3), identity, is_dialled: false, before: 4 };
        let refusal = Refusal::of(&Notice::Host(refused), UNIX_EPOCH).expect("it is one");
        let object: serde_json::Value =
            serde_json::from_str(&refusal.line(refusal.times())).expect("an object");
        let expected = json!({
            "time": "1970-01-01T00:00:00Z", "what": "connection", "from": null, "identity": "07".repeat(32), "name": null,
            "code": "NotAllowed", "text": "a link was refused: who has the key 0707070707070707 may not be heard as node 3", "times": 5,
        });
        assert_eq!(object, expected);
        let why = BootstrapError::Tls {
            address: LinkAddress::Tls { host: "a".to_owned(), port: 1, credentials: None },
            fault: TlsFault::NotAdmitted,
        };
        for event in [Event::TurnedAway { peer: NodeId(3), why }, Event::RefusedByDialler { before: 0 }] {
            assert!(Refusal::of(&Notice::Host(event), UNIX_EPOCH).is_none());
        }
    }

    #[test]
    fn refusals_are_alike_whatever_port_they_come_from() {
        let key = |notice: Notice| Refusal::of(&notice, UNIX_EPOCH).and_then(|refusal| refusal.key());
        assert_eq!(key(knocks([10, 0, 0, 9], 1, 0)), key(knocks([10, 0, 0, 9], 2, 0)));
        assert_ne!(key(knocks([10, 0, 0, 9], 1, 0)), key(knocks([10, 0, 0, 8], 1, 0)));
    }
}
