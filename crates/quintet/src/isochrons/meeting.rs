//! How members find each other: by calls of a handler, which the first member has.
//!
//! ```text
//!   member 0                                   every other member
//!     handles NAME                               calls NAME: who it is, where it listens, what it shares
//!     replies to all, once all have called       knows where everybody listens
//! ```

use super::links::Places;
use crate::{Call, Code, Error, Handler, HandlerLimits, Lab, LinkAddress, life};
use core::fmt::Write;
use quintet_isotach::{Delivery, Isonet};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// In front of the names of members' handlers.
const PREFIX: &str = "quintet.isonet/";
/// What a member's first words begin with; the number grows with every change of them.
const VERSION: &str = "isonet 4";
/// Between fields: no path and no host has it.
const SEPARATOR: char = '\0';
/// How much longer than the first member another one waits, to be told by that one who is missing.
const GRACE: Duration = Duration::from_secs(1);

/// A member among others that are to come.
pub(super) struct Meeting<'a> {
    pub(super) lab: &'a Lab,
    pub(super) name: &'a str,
    pub(super) me: u16,
    pub(super) members: u16,
    pub(super) until: Instant,
}

/// What a member has learnt.
#[derive(Clone)]
pub(super) struct Met {
    /// The number of this isonet alone: members of another one, of the same name say, are refused.
    pub(super) cluster: u128,
    /// Where each member listens, or did while it was there.
    pub(super) members: BTreeMap<u16, LinkAddress>,
}

/// What a member says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hello {
    pub(super) me: u16,
    members: u16,
    /// Which life of which machine it is on.
    machine: String,
    pub(super) address: LinkAddress,
    shares: String,
}

/// What all members are to say alike, in words.
pub(super) fn describe(isonet: &Isonet) -> String {
    let mut text = String::new();
    let delivery = match isonet.delivery() {
        Delivery::Safe => "safe",
        Delivery::Agreed => "agreed",
    };
    let mut line = |line: core::fmt::Arguments<'_>| writeln!(text, "{line}").expect("memory takes it");
    line(format_args!("delivery {delivery}"));
    let members = isonet.topology().nodes().count();
    for (variable, shape) in isonet.variables() {
        let copies: Vec<String> = shape.copies.iter().map(|node| node.0.to_string()).collect();
        let copies = if copies.len() == members { "all members".to_owned() } else { copies.join(" ") };
        line(format_args!("variable {} of {} bytes at {copies}", variable.0, shape.bytes));
    }
    text
}

impl Meeting<'_> {
    /// Waits until all are there.
    pub(super) fn hold(&self, shares: &str, places: &Places) -> Result<Met, Error> {
        let hello = self.hello(shares, places);
        if self.me == 0 { self.receive(&hello) } else { self.call(&hello, places) }
    }

    pub(super) fn hello(&self, shares: &str, places: &Places) -> Hello {
        Hello {
            me: self.me,
            members: self.members,
            machine: this_machine(),
            address: places.address(),
            shares: shares.to_owned(),
        }
    }

    pub(super) fn handler_name(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }

    pub(super) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// The first member: waits for the others and tells them of each other.
    fn receive(&self, mine: &Hello) -> Result<Met, Error> {
        let others = self.members - 1;
        let limits = HandlerLimits { at_once: u32::from(others).max(1), ..HandlerLimits::default() };
        let messaging = self.lab.messaging();
        let handler = messaging.handle_at(&self.handler_name(), None, limits)?;
        let mut here: BTreeMap<u16, (Call, Hello)> = BTreeMap::new();
        while here.len() < usize::from(others) {
            if let Err(error) = self.receive_one(&handler, mine, &mut here) {
                for (call, _) in here.into_values() {
                    call.reply(refused(&error))?;
                }
                return Err(error);
            }
        }
        let (calls, hellos): (Vec<Call>, Vec<Hello>) = here.into_values().unzip();
        let all = core::iter::once(mine).chain(&hellos);
        let members = all.map(|hello| (hello.me, hello.address.clone())).collect();
        let met = Met { cluster: chosen(), members };
        calls.into_iter().try_for_each(|call| call.reply(met.to_text()))?;
        handler.leave()?;
        Ok(met)
    }

    fn receive_one(
        &self,
        handler: &Handler,
        mine: &Hello,
        here: &mut BTreeMap<u16, (Call, Hello)>,
    ) -> Result<(), Error> {
        let call = handler.next_within(self.left()).map_err(|error| match error.code() {
            Code::TimedOut => self.missing(here),
            _ => error,
        })?;
        let hello = Hello::from_text(call.payload()).and_then(|hello| {
            hello.fits(mine)?;
            match here.contains_key(&hello.me) {
                true => Err(Error::new(Code::DuplicateNode, format!("there are two members {}", hello.me))),
                false => Ok(hello),
            }
        });
        match hello {
            Ok(hello) => drop(here.insert(hello.me, (call, hello))),
            Err(error) => {
                call.reply(refused(&error))?;
                return Err(error);
            }
        }
        Ok(())
    }

    fn missing(&self, here: &BTreeMap<u16, (Call, Hello)>) -> Error {
        let missing = (1..self.members).filter(|member| !here.contains_key(member));
        let missing: Vec<String> = missing.map(|member| member.to_string()).collect();
        let text = format!(
            "of the {} members of isonet {:?} these did not come: {}; start them, or wait for longer",
            self.members,
            self.name,
            missing.join(", ")
        );
        Error::new(Code::TimedOut, text)
    }

    /// Another member: tells the first of itself, and is told of the others.
    fn call(&self, mine: &Hello, places: &Places) -> Result<Met, Error> {
        let messaging = self.lab.messaging();
        let first = messaging.to(&self.handler_name());
        first.wait_for_handler(self.left()).map_err(|error| match error.code() {
            Code::TimedOut => {
                let text =
                    format!("member 0 of isonet {:?} did not come; start it, or wait for longer", self.name);
                Error::new(Code::TimedOut, text)
            }
            _ => error,
        })?;
        let reply = first.call_within(mine.to_text(), self.left() + GRACE)?;
        let met = Met::from_text(&reply, places)?;
        if !met.members.keys().copied().eq(0..self.members) {
            return Err(unreadable());
        }
        Ok(met)
    }
}

/// A number that no other isonet has.
fn chosen() -> u128 {
    u128::from(life::random()) << 64 | u128::from(life::incarnation().0)
}

/// Which life of which machine this process is on; empty where the system does not say.
fn this_machine() -> String {
    let said = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    said.unwrap_or_default().trim().to_owned()
}

pub(super) fn refused(error: &Error) -> String {
    join(&["refused", error.code().name(), error.text()])
}

fn join(fields: &[&str]) -> String {
    fields.join(&SEPARATOR.to_string())
}

/// The fields of what another member has said.
fn fields(bytes: &[u8]) -> Result<Vec<&str>, Error> {
    let text = core::str::from_utf8(bytes).map_err(|_| unreadable())?;
    Ok(text.split(SEPARATOR).collect())
}

fn unreadable() -> Error {
    let text = "a member says what is no word of an isonet: do all run the same version of Quintet?";
    Error::new(Code::Malformed, text)
}

fn number<T: core::str::FromStr>(text: &str) -> Result<T, Error> {
    text.parse().map_err(|_| unreadable())
}

impl Hello {
    pub(super) fn to_text(&self) -> String {
        let (me, members) = (self.me.to_string(), self.members.to_string());
        join(&[VERSION, &me, &members, &self.machine, &self.address.to_string(), &self.shares])
    }

    pub(super) fn from_text(bytes: &[u8]) -> Result<Hello, Error> {
        let fields = fields(bytes)?;
        let [VERSION, me, members, machine, address, shares] = fields[..] else {
            return Err(unreadable());
        };
        Ok(Hello {
            me: number(me)?,
            members: number(members)?,
            machine: machine.to_owned(),
            address: number(address)?,
            shares: shares.to_owned(),
        })
    }

    /// Whether another member, which is there, can be in one isonet with this one.
    pub(super) fn fits(&self, there: &Hello) -> Result<(), Error> {
        let bad = |text: String| Err(Error::new(Code::BadValue, text));
        let (me, other) = (self.me, there.me);
        if self.members != there.members || me == other || me >= there.members {
            let (said, members) = (self.members, there.members);
            return bad(format!("there is a member {me} of {said}, and member {other} is one of {members}"));
        }
        if self.shares != there.shares {
            let (here, elsewhere) = first_difference(&there.shares, &self.shares);
            return bad(format!(
                "members do not share the same: member {other} says {here:?}, member {me} {elsewhere:?}"
            ));
        }
        let is_local = matches!(self.address, LinkAddress::SharedMemory(_) | LinkAddress::Unix(_));
        if is_local && self.machine != there.machine {
            let address = &self.address;
            return bad(format!(
                "member {me} is on another machine than member {other} and listens at {address}: have each listen where the others reach it (`listen_at`, tls:HOST:PORT)"
            ));
        }
        Ok(())
    }
}

/// The first lines that differ.
fn first_difference<'a>(one: &'a str, other: &'a str) -> (&'a str, &'a str) {
    let (mut one, mut other) = (one.lines(), other.lines());
    loop {
        match (one.next(), other.next()) {
            (Some(here), Some(there)) if here == there => {}
            (here, there) => return (here.unwrap_or("nothing more"), there.unwrap_or("nothing more")),
        }
    }
}

impl Met {
    pub(super) fn to_text(&self) -> String {
        let cluster = self.cluster.to_string();
        let member = |(member, address): (&u16, &LinkAddress)| [member.to_string(), address.to_string()];
        let members: Vec<String> = self.members.iter().flat_map(member).collect();
        let fields = ["welcome", &cluster].into_iter().chain(members.iter().map(String::as_str));
        join(&fields.collect::<Vec<_>>())
    }

    /// What another member has said.
    pub(super) fn from_text(bytes: &[u8], places: &Places) -> Result<Met, Error> {
        let fields = fields(bytes)?;
        if let ["refused", code, text] = fields[..] {
            let code = Code::ALL.iter().find(|known| known.name() == code).ok_or_else(unreadable)?;
            return Err(Error::new(*code, text));
        }
        let ["welcome", cluster, members @ ..] = &fields[..] else { return Err(unreadable()) };
        let (members, []) = members.as_chunks() else { return Err(unreadable()) };
        let member = |[member, address]: &[&str; 2]| {
            Ok((number(member)?, places.identified(number::<LinkAddress>(address)?)))
        };
        let members = members.iter().map(member).collect::<Result<_, Error>>()?;
        Ok(Met { cluster: number(cluster)?, members })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(me: u16, shares: &str) -> Hello {
        let address = LinkAddress::SharedMemory("/tmp/x/member".into());
        Hello { me, members: 3, machine: "here".to_owned(), address, shares: shares.to_owned() }
    }

    #[test]
    fn a_member_is_understood_and_what_is_none_is_refused() {
        let said = hello(2, "delivery safe\n");
        assert_eq!(Hello::from_text(said.to_text().as_bytes()), Ok(said));
        for bytes in [
            &b""[..],
            b"\xff",
            b"isonet 4\x00",
            b"isonet 3\x001\x003\0\0/x\0",
            b"isonet 4\x00-1\x003\0\0/x\0",
        ] {
            assert_eq!(Hello::from_text(bytes), Err(unreadable()));
        }
    }

    #[test]
    fn who_does_not_fit_is_told_why() {
        let first = hello(0, "delivery safe\nvariable 1 of 8 bytes at all members\n");
        let told = |other: Hello| other.fits(&first).expect_err("it does not fit").text().to_owned();
        assert_eq!(Hello { me: 1, ..first.clone() }.fits(&first), Ok(()));
        let shares = told(hello(1, "delivery safe\nvariable 1 of 4 bytes at all members\n"));
        assert!(shares.contains("of 8 bytes") && shares.contains("of 4 bytes"), "{shares}");
        assert!(told(hello(1, "delivery safe\n")).contains("nothing more"));
        assert!(told(Hello { me: 3, ..first.clone() }).contains("member 3 of 3"));
        assert!(told(Hello { me: 0, ..first.clone() }).contains("member 0 of 3"));
        let elsewhere = told(Hello { me: 1, machine: "there".to_owned(), ..first.clone() });
        assert!(elsewhere.contains("another machine") && elsewhere.contains("listen_at"), "{elsewhere}");
    }
}
