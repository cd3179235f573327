//! What a directory and managers are asked, beside where everything is: `ROUTE`.
//!
//! ```text
//! ROUTE     0 u8 | behaviour u32 (not there: 0): only asks
//!           1 u8 | class | signature: templates have given its key so far
//!           2 u8 | signature: a template does not give its key
//!           3 u8 | epoch u64 | template, to the end: counts what this manager has of a hash, if the epoch is its own
//!           4 u8 | managers u8 | seed u64 | behaviour u32 (not there: 0): between managers, whether both are of one space and of one version; answered with DONE or ERROR
//!           5 u8 | number u64 | number of the asking manager's own part of a select or a replacement u64, 0 of anything else: between managers, to stand
//!           still for a part that is prepared; answered with DONE, for a select or a replacement with what was found behind it (`seek.rs`), MOVED or ERROR
//!           6 u8 | 1: it happens, 0: it does not, 2: it has happened elsewhere, and the part is over u8: between managers, ends that; answered with DONE
//!           7 u8 | requests u64 | n u8 | n of: signature, key u64, requests u64: between managers, what the sender was asked in a period; answered with DONE
//!           8 u8 | number u64: between managers, that there is something now for which that part of a select or a replacement waits; answered with DONE
//!           9, 10, 11 u8 | see `carry.rs`: between managers, what is collected into another space
//! ```
//!
//! Classes and signatures are those of `managers.rs`.

use super::carry::Amount;
use super::managers::{Class, MANAGERS_BEHAVIOUR, MAX_TOLD_KEYS, Relocation};
use crate::Signature;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// What one manager asks of another to do something together.
const LOCK: u8 = 5;
const UNLOCK: u8 = 6;
const LOAD: u8 = 7;
const RING: u8 = 8;
const GIVE: u8 = 9;
const ROOM: u8 = 10;
const PAGE: u8 = 11;

/// What is asked of the directory, beside where everything is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Route {
    /// Nothing. Who asks says by which [`MANAGERS_BEHAVIOUR`].
    Ask { behaviour: u32 },
    /// To make it a hash.
    Spread(Signature, u8),
    /// To bring a hash together at one manager.
    Gather(Signature),
    /// Asked of every manager: how many tuples it has that match the template behind this, if nothing has moved since that epoch.
    Count(u64),
    /// One manager of another: whether both are of a space with so many managers and this key of the hash that says where a tuple is, and by which
    /// [`MANAGERS_BEHAVIOUR`] it goes.
    Join { managers: u8, seed: u64, behaviour: u32 },
    /// One manager of another: to stand still for the part with this number, if it can be done.
    /// `by`: the number of the asking manager's own part, if it is one of a select or a replacement; else 0.
    Lock { part: u64, by: u64 },
    /// One manager of another: to do the part for which it stands still, or not, and to go on.
    Unlock(Outcome),
    /// One manager of another: there is something for which the part of this number waits.
    Ring(u64),
    /// One manager to the first: what it was asked in a period.
    Load(Load),
    /// The first manager of another: to stand still, and to say what matches the template behind this, and is to go into a named space.
    Give { takes: bool },
    /// The first manager of another: to stand still, if so much has room that matches the template behind this.
    Room(Amount),
    /// One manager to another: so many tuples in the bulk, of what was spoken of before.
    Page(u32),
}

/// What comes of a part for which a manager stands still.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Nothing: it stays as it is.
    Nothing,
    /// It happens.
    Happens,
    /// Another manager's part of a select has happened, and this one is over.
    Elsewhere,
}

impl Outcome {
    const ALL: [Outcome; 3] = [Outcome::Nothing, Outcome::Happens, Outcome::Elsewhere];
}

/// What a manager was asked in a period.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Load {
    /// Requests for the unnamed space.
    pub(crate) requests: u64,
    /// The keys of hashes that most of them were about, the first one first: the signature, the hash of the key, and about how many requests.
    pub(crate) keys: Vec<(Signature, u64, u64)>,
}

impl Encode for Load {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.requests);
        sink.u8(u8::try_from(self.keys.len()).expect("at most MAX_TOLD_KEYS"));
        for (signature, key, requests) in &self.keys {
            sink.counted(&signature.0);
            sink.u64(*key);
            sink.u64(*requests);
        }
    }
}

impl Decode<'_> for Load {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (requests, number) = (reader.u64()?, reader.u8()?);
        if usize::from(number) > MAX_TOLD_KEYS {
            return Err(reader.invalid("number of keys", number, 1));
        }
        let mut key = || Ok((Signature::decode(reader)?, reader.u64()?, reader.u64()?));
        let keys = (0..number).map(|_| key()).collect::<Result<_, _>>()?;
        Ok(Load { requests, keys })
    }
}

impl Encode for Route {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Route::Ask { behaviour } => {
                sink.u8(0);
                sink.u32(*behaviour);
            }
            Route::Spread(signature, field) => {
                sink.u8(1);
                Class::Hash(*field).encode(sink);
                sink.counted(&signature.0);
            }
            Route::Gather(signature) => {
                sink.u8(2);
                sink.counted(&signature.0);
            }
            Route::Count(epoch) => {
                sink.u8(3);
                sink.u64(*epoch);
            }
            Route::Join { managers, seed, behaviour } => {
                sink.u8(4);
                sink.u8(*managers);
                sink.u64(*seed);
                sink.u32(*behaviour);
            }
            Route::Lock { part, by } => {
                sink.u8(LOCK);
                sink.u64(*part);
                sink.u64(*by);
            }
            Route::Unlock(outcome) => {
                sink.u8(UNLOCK);
                sink.u8(*outcome as u8);
            }
            Route::Ring(part) => {
                sink.u8(RING);
                sink.u64(*part);
            }
            Route::Load(load) => {
                sink.u8(LOAD);
                load.encode(sink);
            }
            Route::Give { takes } => {
                sink.u8(GIVE);
                sink.u8((*takes).into());
            }
            Route::Room(amount) => {
                sink.u8(ROOM);
                amount.encode(sink);
            }
            Route::Page(count) => {
                sink.u8(PAGE);
                sink.u32(*count);
            }
        }
    }
}

/// By which [`MANAGERS_BEHAVIOUR`] somebody goes; 0 where he says nothing of it.
fn behaviour(reader: &mut Reader<'_>) -> Result<u32, DecodeError> {
    if reader.left() == 0 { Ok(0) } else { reader.u32() }
}

impl Route {
    /// Only asks where everything is.
    pub(crate) const ASK: Route = Route::Ask { behaviour: MANAGERS_BEHAVIOUR };

    /// Whether managers say it to each other to do something together.
    pub(crate) fn is_together(&self) -> bool {
        use Route::{Give, Lock, Page, Ring, Room, Unlock};
        matches!(self, Lock { .. } | Unlock(_) | Ring(_) | Give { .. } | Room(_) | Page(_))
    }

    /// Whether a body is that of the word by which a manager goes on.
    pub(crate) fn is_unlock(body: &[u8]) -> bool {
        body.first() == Some(&UNLOCK)
    }

    /// Whether a body is that of a page of tuples.
    pub(crate) fn is_page(body: &[u8]) -> bool {
        body.first() == Some(&PAGE)
    }
}

impl Decode<'_> for Route {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            0 => Route::Ask { behaviour: behaviour(reader)? },
            1 => match Relocation::decode(reader)? {
                Relocation::Class(signature, Class::Hash(field)) => Route::Spread(signature, field),
                _ => return Err(reader.invalid("class to spread", 0u8, 0)),
            },
            2 => Route::Gather(Signature::decode(reader)?),
            3 => Route::Count(reader.u64()?),
            4 => {
                let (managers, seed) = (reader.u8()?, reader.u64()?);
                Route::Join { managers, seed, behaviour: behaviour(reader)? }
            }
            LOCK => Route::Lock { part: reader.u64()?, by: reader.u64()? },
            UNLOCK => {
                let number = reader.u8()?;
                let outcome = Outcome::ALL.get(usize::from(number)).copied();
                Route::Unlock(outcome.ok_or_else(|| reader.invalid("what comes of a part", number, 1))?)
            }
            RING => Route::Ring(reader.u64()?),
            LOAD => Route::Load(Load::decode(reader)?),
            GIVE => Route::Give { takes: reader.flag("whether what is collected is taken")? },
            ROOM => Route::Room(Amount::decode(reader)?),
            PAGE => Route::Page(reader.u32()?),
            other => return Err(reader.invalid("what is asked of a directory", other, 1)),
        })
    }
}
