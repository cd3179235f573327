//! The driver of the Rust front end. What it is told and says is in `docs/conformance.md`.

use quintet::{
    Error, EventStream, Group, Lab, Lease, Outcome, Pending, Policy, Since, Space, SpaceConfig,
    SpaceSettings, Template, Tuple, Value,
};
use quintet_conformance::field::Fields;
use quintet_conformance::rust_answers as answers;
use quintet_conformance::rust_fields::{self, CannotSay};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Write};
use std::time::Duration;

/// What a line comes to, as it is answered.
type Said = Result<String, Refusal>;

/// Why there is no other answer.
enum Refusal {
    /// The space's error.
    Error(Error),
    /// What this front end cannot say.
    Cannot(String),
}

impl<E: Into<Error>> From<E> for Refusal {
    fn from(error: E) -> Refusal {
        Refusal::Error(error.into())
    }
}

/// What was begun.
enum Begun {
    Operation(Pending),
    Lease(Pending, Space),
    Acknowledgement(quintet::Acknowledgement),
}

/// All clients of this process.
#[derive(Default)]
struct Clients {
    labs: BTreeMap<String, Lab>,
    embedded: Option<Lab>,
    leases: BTreeMap<String, Lease>,
    begun: BTreeMap<String, Begun>,
    watches: BTreeMap<String, EventStream>,
    groups: BTreeMap<String, Group>,
    /// The named spaces that clients use.
    used: BTreeMap<String, Space>,
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut clients = Clients::default();
    writeln!(out, "ready")?;
    out.flush()?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let said = match clients.does(&words) {
            Ok(said) => said,
            Err(Refusal::Error(error)) => format!("error {:?}", error.code()),
            Err(Refusal::Cannot(text)) => format!("cannot {text}"),
        };
        writeln!(out, "{} {said}", words[0])?;
        out.flush()?;
    }
    Ok(())
}

impl Clients {
    /// Does what a line says: the step's number, the client, and what.
    fn does(&mut self, words: &[&str]) -> Said {
        let (step, client) = (words[0], words[1]);
        match words[2] {
            "open" => self.open(client, words[3], &words[4..]),
            "close" => {
                self.used.remove(client);
                self.labs.remove(client).iter().for_each(Lab::close);
                Ok("done".to_owned())
            }
            "reset" => {
                self.labs.values().for_each(Lab::close);
                *self = Clients::default();
                Ok("done".to_owned())
            }
            "peek" => Ok(if self.is_answered(words[3]) { "done" } else { "waits" }.to_owned()),
            "collect" => self.collect(words[3]),
            "cancel" => {
                match self.begun.get(words[3]) {
                    Some(Begun::Operation(pending) | Begun::Lease(pending, _)) => pending.cancel(),
                    Some(Begun::Acknowledgement(acknowledgement)) => acknowledgement.pending().cancel(),
                    None => {}
                }
                Ok("done".to_owned())
            }
            "acknowledge" => {
                let results = tuples(&words[5..])?;
                match limit(words[4]) {
                    Some(expires_in) => self.lease(words[3])?.acknowledge_for(&results, expires_in)?,
                    None => self.lease(words[3])?.acknowledge(&results)?,
                }
                Ok("done".to_owned())
            }
            "release" => {
                self.lease(words[3])?.release()?;
                Ok("done".to_owned())
            }
            "watch" => self.watch(step, client, Since::Now, &words[4..]),
            "watch_start" => self.watch(step, client, Since::Start, &words[4..]),
            "watch_behind" => {
                let since = Since::Number(self.watches[words[3]].number());
                self.watch(step, client, since, &words[5..])
            }
            "next" => self.next(words[3], words[4]),
            "group" => {
                self.groups.insert(step.to_owned(), self.space(client).group());
                Ok("done".to_owned())
            }
            "commit" | "abort" => self.end_group(words[2], words[3]),
            verb if verb.starts_with("group_") => self.in_group(verb, words[3], words[4], words[5]),
            "create_kept_space" => self.create_kept(client, words[4]),
            "grant_space" | "revoke_space" => self.allow(client, words[2], words[4]),
            verb if verb.ends_with("_space") => self.named(client, verb, words.get(4).copied()),
            "begin" => self.begin(step, client, &words[3..]),
            verb => self.call(step, client, verb, words[3], &words[4..]),
        }
    }

    fn open(&mut self, client: &str, address: &str, limits: &[&str]) -> Said {
        let lab = if address == "embedded" {
            self.embedded.get_or_insert_with(|| Lab::embedded_with(limited(limits), None)).clone()
        } else {
            let config = quintet::ConnectConfig::from_environment()?;
            config.connect_to(address.parse::<quintet::SpaceAddress>()?)?
        };
        self.labs.insert(client.to_owned(), lab);
        Ok("done".to_owned())
    }

    fn space(&self, client: &str) -> Space {
        self.used.get(client).cloned().unwrap_or_else(|| self.labs[client].space())
    }

    /// Of a collection into another space: that one, by its name, or without one that which has none; and the template.
    fn other_space(&self, client: &str, fields: &[&str]) -> Result<(Space, Template), Refusal> {
        let lab = &self.labs[client];
        Ok(match fields {
            [name, wanted] => (lab.named_space(&texts(name)?[0])?, template(wanted)?),
            _ => (lab.space(), template(fields[0])?),
        })
    }

    fn in_group(&mut self, verb: &str, of: &str, within: &str, token: &str) -> Said {
        let group = &self.groups[of];
        let tuple = match (verb, limit(within)) {
            ("group_out", expires_in) => {
                let tuple = tuples(&[token])?.remove(0);
                match expires_in {
                    Some(expires_in) => group.out_for(tuple, expires_in)?,
                    None => group.out(tuple)?,
                }
                return Ok("done".to_owned());
            }
            ("group_take", None) => Some(group.take(&template(token)?)?),
            ("group_take", Some(limit)) => Some(group.take_within(&template(token)?, limit)?),
            ("group_read", None) => Some(group.read(&template(token)?)?),
            ("group_read", Some(limit)) => Some(group.read_within(&template(token)?, limit)?),
            ("group_take_if", _) => group.take_if(&template(token)?)?,
            ("group_read_if", _) => group.read_if(&template(token)?)?,
            (other, _) => return Err(Refusal::Cannot(format!("{other}: there is no such operation"))),
        };
        Ok(answers::perhaps_tuple(tuple))
    }

    fn end_group(&mut self, verb: &str, of: &str) -> Said {
        let group = self.groups.remove(of).ok_or_else(|| {
            Refusal::Cannot("end a group again that has ended: a commit consumes it".to_owned())
        })?;
        if verb == "commit" {
            group.commit()?
        } else {
            group.abort()?
        }
        Ok("done".to_owned())
    }

    /// Of a named space: its name, and how many tuples it holds where that is said.
    fn named(&mut self, client: &str, verb: &str, token: Option<&str>) -> Said {
        let lab = &self.labs[client];
        let Some(token) = token else {
            self.used.remove(client);
            return Ok("done".to_owned());
        };
        let tuple = tuples(&[token])?.remove(0);
        let [Value::Text(name), rest @ ..] = tuple.values() else {
            return Err(Refusal::Cannot("a space has a name".to_owned()));
        };
        let max_tuples = match rest {
            [Value::I64(most)] => most.unsigned_abs(),
            _ => 0,
        };
        match verb {
            "create_space" => {
                let settings = SpaceSettings { max_tuples, ..SpaceSettings::default() };
                self.used.insert(client.to_owned(), lab.create_space(name, &settings)?);
            }
            "use_space" => {
                self.used.insert(client.to_owned(), lab.named_space(name)?);
            }
            _ => lab.remove_space(name)?,
        }
        Ok("done".to_owned())
    }

    /// Of a space that machines of a cluster keep: its name, its policy, and the machines that it is for, if it is not for all.
    fn create_kept(&mut self, client: &str, token: &str) -> Said {
        let lab = &self.labs[client];
        let words = texts(token)?;
        let [name, policy, machines @ ..] = &words[..] else {
            return Err(Refusal::Cannot("a space has a name and a policy".to_owned()));
        };
        let policy: Policy = policy.parse().map_err(Refusal::Cannot)?;
        let allow = (!machines.is_empty()).then(|| lab.rights_of(machines, policy)).transpose()?;
        let settings = SpaceSettings { policy, allow, ..SpaceSettings::default() };
        self.used.insert(client.to_owned(), lab.create_space(name, &settings)?);
        Ok("done".to_owned())
    }

    /// Its name, and the machines that may use it from now on, or may no more.
    fn allow(&self, client: &str, verb: &str, token: &str) -> Said {
        let lab = &self.labs[client];
        let words = texts(token)?;
        let (name, machines) =
            words.split_first().ok_or_else(|| Refusal::Cannot("a space has a name".to_owned()))?;
        let (named, nobody) = (lab.rights_of(machines, Policy::Logged)?.identities, BTreeSet::new());
        match verb {
            "grant_space" => lab.allow_space(name, &named, &nobody)?,
            _ => lab.allow_space(name, &nobody, &named)?,
        }
        Ok("done".to_owned())
    }

    /// An operation that is answered before anything else is done.
    fn call(&mut self, step: &str, client: &str, verb: &str, within: &str, fields: &[&str]) -> Said {
        let (space, limit) = (self.space(client), limit(within));
        Ok(match (verb, limit) {
            ("out", None) => {
                space.out(tuples(fields)?.remove(0))?;
                "done".to_owned()
            }
            ("out_for", Some(expires_in)) => {
                space.out_for(tuples(fields)?.remove(0), expires_in)?;
                "done".to_owned()
            }
            ("out" | "out_many", _) => {
                space.out_many(&tuples(fields)?, limit)?;
                "done".to_owned()
            }
            ("take", None) => answers::tuple(&space.take(&template(fields[0])?)?),
            ("take", Some(limit)) => answers::tuple(&space.take_within(&template(fields[0])?, limit)?),
            ("read", None) => answers::tuple(&space.read(&template(fields[0])?)?),
            ("read", Some(limit)) => answers::tuple(&space.read_within(&template(fields[0])?, limit)?),
            ("take_if", _) => answers::perhaps_tuple(space.take_if(&template(fields[0])?)?),
            ("read_if", _) => answers::perhaps_tuple(space.read_if(&template(fields[0])?)?),
            ("replace", None) => {
                answers::tuple(&space.replace(&template(fields[0])?, &tuples(&fields[1..])?)?)
            }
            ("replace", Some(limit)) => {
                answers::tuple(&space.replace_within(&template(fields[0])?, &tuples(&fields[1..])?, limit)?)
            }
            ("replace_if", _) => {
                answers::perhaps_tuple(space.replace_if(&template(fields[0])?, &tuples(&fields[1..])?)?)
            }
            ("select", None) => answers::selected(space.select(&templates(fields)?)?),
            ("select", Some(limit)) => answers::selected(space.select_within(&templates(fields)?, limit)?),
            ("select_read", None) => answers::selected(space.select_read(&templates(fields)?)?),
            ("select_read", Some(limit)) => {
                answers::selected(space.select_read_within(&templates(fields)?, limit)?)
            }
            ("select_if", _) => answers::perhaps_selected(space.select_if(&templates(fields)?)?),
            ("select_read_if", _) => answers::perhaps_selected(space.select_read_if(&templates(fields)?)?),
            ("select_lease", _) => {
                let (which, lease) = space.select_lease(&templates(fields)?, limit)?;
                self.keep_selected(step, which, lease)
            }
            ("lease", _) => self.keep(step, space.lease(&template(fields[0])?, limit)?),
            ("count", _) => format!("count {}", space.count(&template(fields[0])?)?),
            ("list", _) => {
                let wanted = fields.first().map(|fields| template(fields)).transpose()?;
                answers::listed(&space.list(wanted.as_ref()).collect::<Result<Vec<_>, _>>()?)
            }
            ("collect_all", _) => answers::collected(&space.collect(&template(fields[0])?)?),
            ("copy_collect", _) => answers::collected(&space.copy_collect(&template(fields[0])?)?),
            ("take_up_to", _) => {
                answers::collected(&space.take_up_to(number(fields[0])?, &template(fields[1])?)?)
            }
            ("collect_into", _) => {
                let (other, wanted) = self.other_space(client, fields)?;
                format!("count {}", space.collect_into(&other, &wanted)?)
            }
            ("copy_collect_into", _) => {
                let (other, wanted) = self.other_space(client, fields)?;
                format!("count {}", space.copy_collect_into(&other, &wanted)?)
            }
            ("status", _) => answers::status(&space.status()?),
            ("declare_key", _) => {
                space.declare_key(&template(fields[1])?, number(fields[0])?)?;
                "done".to_owned()
            }
            (other, _) => return Err(Refusal::Cannot(format!("{other}: there is no such operation"))),
        })
    }

    /// Begins an operation that is answered later.
    fn begin(&mut self, step: &str, client: &str, words: &[&str]) -> Said {
        let space = self.space(client);
        let begun = match words[0] {
            "acknowledge" => {
                let results = tuples(&words[3..])?;
                let lease = self.lease(words[1])?;
                Begun::Acknowledgement(match limit(words[2]) {
                    Some(expires_in) => lease.begin_acknowledge_for(&results, expires_in)?,
                    None => lease.begin_acknowledge(&results)?,
                })
            }
            verb => {
                let (begin, fields) = (space.begin().within(limit(words[1])), &words[2..]);
                match verb {
                    "out" | "out_many" => Begun::Operation(begin.out(&tuples(fields)?)?),
                    "take" => Begun::Operation(begin.take(&template(fields[0])?)?),
                    "read" => Begun::Operation(begin.read(&template(fields[0])?)?),
                    "lease" => Begun::Lease(begin.lease(&template(fields[0])?)?, space.clone()),
                    "replace" => {
                        Begun::Operation(begin.replace(&template(fields[0])?, &tuples(&fields[1..])?)?)
                    }
                    "select" => Begun::Operation(begin.select(&templates(fields)?)?),
                    "select_read" => Begun::Operation(begin.select_read(&templates(fields)?)?),
                    "select_lease" => Begun::Lease(begin.select_lease(&templates(fields)?)?, space.clone()),
                    other => return Err(Refusal::Cannot(format!("{other}: it does not wait"))),
                }
            }
        };
        self.begun.insert(step.to_owned(), begun);
        Ok("waits".to_owned())
    }

    fn is_answered(&self, step: &str) -> bool {
        match &self.begun[step] {
            Begun::Operation(pending) | Begun::Lease(pending, _) => pending.peek(Duration::ZERO).is_some(),
            Begun::Acknowledgement(acknowledgement) => {
                acknowledgement.pending().peek(Duration::ZERO).is_some()
            }
        }
    }

    fn collect(&mut self, step: &str) -> Said {
        let begun = self.begun.remove(step).expect("it was begun");
        Ok(match begun {
            Begun::Operation(pending) => match pending.finish()? {
                Outcome::Done => "done".to_owned(),
                Outcome::Tuple(tuple, _) => answers::tuple(&tuple),
                Outcome::Selected(which, tuple, _) => answers::selected((which, tuple)),
                other => format!("error Malformed {other:?}"),
            },
            Begun::Lease(pending, space) => match pending.finish()? {
                Outcome::Selected(which, tuple, granted) => {
                    self.keep_selected(step, which, space.leased(Outcome::Tuple(tuple, granted))?)
                }
                found => self.keep(step, space.leased(found)?),
            },
            Begun::Acknowledgement(acknowledgement) => {
                acknowledgement.finish()?;
                "done".to_owned()
            }
        })
    }

    fn watch(&mut self, step: &str, client: &str, since: Since, fields: &[&str]) -> Said {
        let wanted = fields.first().map(|fields| template(fields)).transpose()?;
        self.watches.insert(step.to_owned(), self.space(client).watch(wanted.as_ref(), since)?);
        Ok("done".to_owned())
    }

    fn next(&mut self, of: &str, within: &str) -> Said {
        let events = self.watches.get_mut(of).expect("it was made");
        let Some(event) = events.next_within(limit(within).unwrap_or(Duration::MAX)).transpose()? else {
            return Ok("nothing".to_owned());
        };
        let fields = rust_fields::fields(event.tuple.values()).to_token();
        Ok(format!("event {} {fields}", event.change.name()))
    }

    fn keep(&mut self, step: &str, lease: Lease) -> String {
        let said = answers::leased(&lease);
        self.leases.insert(step.to_owned(), lease);
        said
    }

    fn keep_selected(&mut self, step: &str, which: usize, lease: Lease) -> String {
        let said = answers::selected_lease(which, &lease);
        self.leases.insert(step.to_owned(), lease);
        said
    }

    fn lease(&mut self, step: &str) -> Result<Lease, Refusal> {
        let ended = || Refusal::Cannot("use a lease again that has ended: it is consumed".to_owned());
        self.leases.remove(step).ok_or_else(ended)
    }
}

/// `-`, or milliseconds.
fn limit(word: &str) -> Option<Duration> {
    word.parse().ok().map(Duration::from_millis)
}

fn limited(limits: &[&str]) -> SpaceConfig {
    let mut config = SpaceConfig::default();
    for (name, number) in limits.iter().filter_map(|limit| limit.split_once('=')) {
        let number = number.parse().expect("the player sends numbers");
        match name {
            "max_bytes" => config.max_bytes = number,
            "max_tuples" => config.max_tuples = number,
            other => panic!("{other} is no limit"),
        }
    }
    config
}

fn fields(token: &str) -> Fields {
    Fields::from_token(token).expect("the player sends fields")
}

fn tuples(tokens: &[&str]) -> Result<Vec<Tuple>, Refusal> {
    tokens
        .iter()
        .map(|token| {
            let values = rust_fields::values(&fields(token)).map_err(cannot)?;
            Ok(Tuple::new(values.into_iter().collect::<Result<_, _>>()?)?)
        })
        .collect()
}

/// The number that a tuple is.
fn number(token: &str) -> Result<usize, Refusal> {
    match tuples(&[token])?[0].values() {
        [Value::I64(number)] => Ok(usize::try_from(*number).unwrap_or(usize::MAX)),
        _ => Err(Refusal::Cannot("the first tuple is a number".to_owned())),
    }
}

/// The fields of a tuple that has texts alone.
fn texts(token: &str) -> Result<Vec<String>, Refusal> {
    let tuple = tuples(&[token])?.remove(0);
    let text = |value: &Value| match value {
        Value::Text(text) => Ok(text.to_string()),
        _ => Err(Refusal::Cannot("these are texts".to_owned())),
    };
    tuple.values().iter().map(text).collect()
}

fn template(token: &str) -> Result<Template, Refusal> {
    let wanted = rust_fields::template(&fields(token)).map_err(cannot)?;
    Ok(Template::new(wanted.into_iter().collect::<Result<_, _>>()?)?)
}

fn templates(tokens: &[&str]) -> Result<Vec<Template>, Refusal> {
    tokens.iter().map(|token| template(token)).collect()
}

fn cannot(CannotSay(text): CannotSay) -> Refusal {
    Refusal::Cannot(text)
}
