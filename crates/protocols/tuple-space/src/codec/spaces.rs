//! Named spaces: what they are called, what they are made with, and how they are asked for.
//!
//! ```text
//! request   what u8: 0 create, 1 open, 2 remove, 3 list | name: length u32, text | of a creation the settings, to the end
//!           4 allow | who follows
//!           of a listing, the name is the one after which the page begins: empty for the first
//! settings  policy u8, copies u8 | bytes at most u64, tuples at most u64 (0: the server's default) | who may use it
//! who       u8: 0 everybody, then nothing; 1 who follows: own machine u8, number u32, of each identity 32 bytes, in their order
//! spaces    rows u32 | has more u8 | of each row: number u32 | name | settings
//!           tuples, bytes, hidden, waiters, leases, requests that wait for room: u64 each
//! ```
//!
//! A request to a named space is [`NAMED`](super::NAMED): the space's number u32, the kind of the request u8, and the request's body as it
//! would be without that. Requests that name another by its token ([`CANCEL`](super::CANCEL), [`RETURN`](super::RETURN)), or mean all leases of
//! their sender ([`RENEW`](super::RENEW)), go to all spaces at once and are not wrapped.

use super::RequestView;
use bytes::Bytes;
use core::fmt;
use core::str::FromStr;
use quintet_contract::{Identity, Kind, LinkClass, LinkInfo, OwnedFrame, Token, limits};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink, encode_to_vec};
use std::collections::BTreeSet;

/// Names a space as long as its server lives: no other gets the number of one that was removed. 0 is the unnamed space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SpaceNumber(pub u32);

impl SpaceNumber {
    /// The space that every server has.
    pub const UNNAMED: SpaceNumber = SpaceNumber(0);
}

/// What a space is called: 1 to [`SpaceName::MAX_BYTES`] letters, digits, `-`, `_` and `.` of ASCII, the first of them a letter or digit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SpaceName(Box<str>);

/// A text that is no [`SpaceName`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpaceNameError(String);

impl SpaceName {
    /// The longest name.
    pub const MAX_BYTES: usize = 63;

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn is_valid(text: &str) -> bool {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        text.len() <= SpaceName::MAX_BYTES
            && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
            && text.bytes().all(is_inner)
    }
}

impl FromStr for SpaceName {
    type Err = SpaceNameError;

    fn from_str(text: &str) -> Result<Self, SpaceNameError> {
        if SpaceName::is_valid(text) {
            return Ok(SpaceName(text.into()));
        }
        let shown: String = text.chars().take(SpaceName::MAX_BYTES + 1).collect();
        Err(SpaceNameError(shown))
    }
}

impl fmt::Display for SpaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for SpaceNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, most) = (&self.0, SpaceName::MAX_BYTES);
        write!(
            f,
            "{text:?} is no name of a space: 1 to {most} letters, digits, '-', '_' and '.', the first of them a letter or digit"
        )
    }
}

impl core::error::Error for SpaceNameError {}

/// What holds a space's tuples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// The memory of the server: nothing survives its end.
    #[default]
    Volatile,
    /// A log on the server's disk.
    Logged,
    /// So many servers.
    Replicated(u8),
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "volatile" => Ok(Policy::Volatile),
            "logged" => Ok(Policy::Logged),
            _ => {
                let copies = text.strip_prefix("replicated=").and_then(|copies| copies.parse().ok());
                let copies = copies.filter(|copies| *copies > 0).map(Policy::Replicated);
                copies.ok_or_else(|| {
                    let shown: String = text.chars().take(32).collect();
                    format!("{shown:?} is no policy: volatile, logged, or replicated=N with N from 1 to 255")
                })
            }
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Volatile => f.write_str("volatile"),
            Policy::Logged => f.write_str("logged"),
            Policy::Replicated(copies) => write!(f, "replicated={copies}"),
        }
    }
}

/// Who may use a space, beside the process that serves it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpaceRights {
    /// Who reaches it from its own machine, over a link that asks for no proof.
    pub own_machine: bool,
    /// Who has proved to be one of these; [`SpaceRights::MAX_IDENTITIES`] at most.
    pub identities: BTreeSet<Identity>,
}

impl SpaceRights {
    /// Identities that may be named.
    pub const MAX_IDENTITIES: usize = 128;

    /// The frame by which a caller of the server's own node says that these may use spaces that are for some only.
    #[must_use]
    pub fn frame(&self, token: Token) -> OwnedFrame {
        let mut body = encode_to_vec(&super::Settled(0));
        SpacesRequest::Allow(self.clone()).encode(&mut body);
        OwnedFrame { kind: super::SPACES, token, body: body.into(), bulk: Bytes::new() }
    }

    /// Whether who is at the other end of this link may.
    #[must_use]
    pub fn admit(&self, link: &LinkInfo) -> bool {
        match (link.identity, link.class) {
            (Some(identity), _) => self.identities.contains(&identity),
            (None, LinkClass::Process | LinkClass::Machine) => self.own_machine,
            (None, LinkClass::Network) => false,
        }
    }
}

/// What a named space is made with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpaceSettings {
    /// What holds its tuples.
    pub policy: Policy,
    /// Its quota of bytes, as [`SpaceConfig::max_bytes`](crate::SpaceConfig::max_bytes); 0: the server's default.
    pub max_bytes: u64,
    /// Its quota of tuples; 0: the server's default.
    pub max_tuples: u64,
    /// Who may use and remove it; none: everybody who may use the server.
    pub allow: Option<SpaceRights>,
}

/// A named space as its server lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpaceInfo {
    /// What requests to it carry.
    pub number: SpaceNumber,
    /// What it is called.
    pub name: SpaceName,
    /// What it was made with, defaults filled in.
    pub settings: SpaceSettings,
    /// Tuples that can be taken.
    pub tuples: u64,
    /// Bytes that count for its quota.
    pub bytes: u64,
    /// Tuples under a lease or in delivery.
    pub hidden: u64,
    /// Takes and reads that wait.
    pub waiters: u64,
    /// Leases held.
    pub leases: u64,
    /// Requests that wait for room.
    pub parked: u64,
}

/// A part of the list of named spaces, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpacesPage {
    /// The spaces.
    pub rows: Vec<SpaceInfo>,
    /// Whether there are more behind the last of them.
    pub has_more: bool,
}

impl SpacesPage {
    /// Rows of a page at most: the longest fit one answer.
    pub const MAX_ROWS: usize = 8;
}

/// What is asked of the named spaces as a whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SpacesRequest {
    /// Makes a space; one that is there with the same settings is as good.
    Create(SpaceName, SpaceSettings),
    /// Asks which number a space has, to use it.
    Open(SpaceName),
    /// Removes a space with its tuples.
    Remove(SpaceName),
    /// Lists spaces by name.
    List {
        /// The last name that was seen.
        after: Option<SpaceName>,
    },
    /// From now on these may use spaces that are for some only ([`KeptSpaces::is_restricted`](crate::KeptSpaces::is_restricted)), and nobody else. A caller of the
    /// server's own node says it.
    Allow(SpaceRights),
}

/// The longest row of a page, and the longest request.
const MAX_SETTINGS_BYTES: usize = 2 + 16 + 2 + 4 + SpaceRights::MAX_IDENTITIES * size_of::<Identity>();
const MAX_ROW_BYTES: usize = 4 + 4 + SpaceName::MAX_BYTES + MAX_SETTINGS_BYTES + 6 * 8;

const _: () =
    assert!(8 + SpacesPage::MAX_ROWS * MAX_ROW_BYTES <= limits::MAX_PAYLOAD_BYTES, "a page is one frame");

const _: () = {
    let longest_front = 8 + 8 + 8 + 4 + 8;
    assert!(
        NamedFront::BYTES + longest_front <= super::REQUEST_BYTES,
        "a request to a named space is one frame"
    );
    assert!(super::NAMED.0 > super::SPACE_ROWS.0 && super::SPACES.0 < super::DONE.0);
};

/// What stands in front of a request to a named space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedFront {
    pub(crate) space: SpaceNumber,
    pub(crate) kind: Kind,
}

impl NamedFront {
    /// Its bytes.
    pub(crate) const BYTES: usize = 5;

    /// Splits a body into this and what follows it.
    pub(crate) fn split(body: &[u8]) -> Result<(NamedFront, &[u8]), DecodeError> {
        let mut reader = Reader::new(body);
        let (space, kind) = (SpaceNumber(reader.u32()?), Kind(reader.u8()?));
        if space == SpaceNumber::UNNAMED {
            return Err(DecodeError::Invalid { at: 0, field: "number of a named space", value: 0 });
        }
        if !RequestView::is_of_one_space(kind) {
            return Err(reader.invalid("kind of a request to a named space", kind.0, 1));
        }
        Ok((NamedFront { space, kind }, reader.bytes(reader.left())?))
    }

    /// The space, the kind and the body of a request: of one to a named space as they would be without that. What cannot be read is as it is.
    pub(crate) fn unwrap(kind: Kind, body: &[u8]) -> (SpaceNumber, Kind, &[u8]) {
        if kind == super::NAMED
            && let Ok((front, body)) = NamedFront::split(body)
        {
            return (front.space, front.kind, body);
        }
        (SpaceNumber::UNNAMED, kind, body)
    }
}

impl Encode for NamedFront {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.space.0);
        sink.u8(self.kind.0);
    }
}

impl Encode for SpaceName {
    fn encode(&self, sink: &mut impl Sink) {
        sink.counted(self.0.as_bytes());
    }
}

impl Decode<'_> for SpaceName {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = reader.at();
        named(at, reader.text("name of a space", SpaceName::MAX_BYTES)?)
    }
}

fn named(at: usize, text: &str) -> Result<SpaceName, DecodeError> {
    let value = text.len() as u64;
    text.parse().map_err(|_| DecodeError::Invalid { at, field: "name of a space, of so many bytes,", value })
}

/// A name, or none as an empty text.
fn optional_name(reader: &mut Reader<'_>) -> Result<Option<SpaceName>, DecodeError> {
    let at = reader.at();
    let text = reader.text("name of a space", SpaceName::MAX_BYTES)?;
    (!text.is_empty()).then(|| named(at, text)).transpose()
}

impl Encode for Policy {
    fn encode(&self, sink: &mut impl Sink) {
        let (policy, copies) = match self {
            Policy::Volatile => (0, 0),
            Policy::Logged => (1, 0),
            Policy::Replicated(copies) => (2, *copies),
        };
        sink.u8(policy);
        sink.u8(copies);
    }
}

impl Decode<'_> for Policy {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match (reader.u8()?, reader.u8()?) {
            (0, 0) => Policy::Volatile,
            (1, 0) => Policy::Logged,
            (2, copies @ 1..) => Policy::Replicated(copies),
            (policy, _) => return Err(reader.invalid("policy of a space", policy, 2)),
        })
    }
}

impl Encode for SpaceSettings {
    fn encode(&self, sink: &mut impl Sink) {
        self.policy.encode(sink);
        sink.u64(self.max_bytes);
        sink.u64(self.max_tuples);
        sink.u8(self.allow.is_some().into());
        if let Some(rights) = &self.allow {
            rights.encode(sink);
        }
    }
}

impl Encode for SpaceRights {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(self.own_machine.into());
        sink.u32(u32::try_from(self.identities.len()).unwrap_or(u32::MAX));
        self.identities.iter().for_each(|identity| sink.bytes(&identity.0));
    }
}

impl Decode<'_> for SpaceSettings {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let policy = Policy::decode(reader)?;
        let (max_bytes, max_tuples) = (reader.u64()?, reader.u64()?);
        let allow = reader.flag("whether rights follow")?.then(|| SpaceRights::decode(reader)).transpose()?;
        Ok(SpaceSettings { policy, max_bytes, max_tuples, allow })
    }
}

impl Decode<'_> for SpaceRights {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let own_machine = reader.flag("own machine")?;
        let mut identities = BTreeSet::new();
        for _ in 0..reader.length("number of identities", SpaceRights::MAX_IDENTITIES)? {
            let at = reader.at();
            let identity = Identity(reader.array()?);
            if identities.last().is_some_and(|last| *last >= identity) {
                let value = identity.0[0].into();
                return Err(DecodeError::Invalid { at, field: "order of identities", value });
            }
            identities.insert(identity);
        }
        Ok(SpaceRights { own_machine, identities })
    }
}

impl Encode for SpacesRequest {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            SpacesRequest::Create(name, settings) => {
                sink.u8(0);
                name.encode(sink);
                settings.encode(sink);
            }
            SpacesRequest::Open(name) => {
                sink.u8(1);
                name.encode(sink);
            }
            SpacesRequest::Remove(name) => {
                sink.u8(2);
                name.encode(sink);
            }
            SpacesRequest::List { after } => {
                sink.u8(3);
                sink.counted(after.as_ref().map_or("", SpaceName::as_str).as_bytes());
            }
            SpacesRequest::Allow(rights) => {
                sink.u8(4);
                rights.encode(sink);
            }
        }
    }
}

impl Decode<'_> for SpacesRequest {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            0 => SpacesRequest::Create(SpaceName::decode(reader)?, SpaceSettings::decode(reader)?),
            1 => SpacesRequest::Open(SpaceName::decode(reader)?),
            2 => SpacesRequest::Remove(SpaceName::decode(reader)?),
            3 => SpacesRequest::List { after: optional_name(reader)? },
            4 => SpacesRequest::Allow(SpaceRights::decode(reader)?),
            other => return Err(reader.invalid("what is asked of the spaces", other, 1)),
        })
    }
}

impl Encode for SpacesPage {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(u32::try_from(self.rows.len()).expect("at most MAX_ROWS rows"));
        sink.u8(self.has_more.into());
        for row in &self.rows {
            sink.u32(row.number.0);
            row.name.encode(sink);
            row.settings.encode(sink);
            for number in [row.tuples, row.bytes, row.hidden, row.waiters, row.leases, row.parked] {
                sink.u64(number);
            }
        }
    }
}

impl Decode<'_> for SpacesPage {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = reader.length("rows of a list of spaces", SpacesPage::MAX_ROWS)?;
        let mut page = SpacesPage { rows: Vec::new(), has_more: reader.flag("whether there are more")? };
        for _ in 0..count {
            page.rows.push(SpaceInfo {
                number: SpaceNumber(reader.u32()?),
                name: SpaceName::decode(reader)?,
                settings: SpaceSettings::decode(reader)?,
                tuples: reader.u64()?,
                bytes: reader.u64()?,
                hidden: reader.u64()?,
                waiters: reader.u64()?,
                leases: reader.u64()?,
                parked: reader.u64()?,
            });
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests;
