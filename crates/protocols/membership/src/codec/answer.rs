//! The bodies of answers.

use super::{CHANGED, CURRENT, DONE, ERROR, JOINED, NEWS};
use crate::change::Change;
use crate::refusal::Refusal;
use crate::view::{MAX_MEMBERS, View};
use quintet_contract::{Kind, NodeId, Span};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// The answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The machine is in.
    Joined {
        /// Under this number.
        node: NodeId,
        /// The view at that time.
        view: u64,
    },
    /// It was done.
    Done,
    /// Who is in; and who of them does not seem to be there: as the leader sees it, where the view was to be agreed, else as this member does.
    Current(Box<View>, Vec<Suspect>),
    /// The change that made a view.
    Changed {
        /// The view's number.
        view: u64,
        /// What was changed.
        change: Change,
    },
    /// What this member sees.
    News(News),
    /// It failed.
    Error(Refusal),
}

/// What a member sees by itself, agreed with nobody.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct News {
    /// Grows with each change of what follows.
    pub number: u64,
    /// Whether no majority of the voters has been heard lately: the view may be out of date, and nothing is decided here.
    pub is_stale: bool,
    /// For how long, when this was said.
    pub stale_for: Span,
    /// Members that do not seem to be there.
    pub suspects: Vec<Suspect>,
}

/// A member that does not seem to be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suspect {
    /// Its number.
    pub node: NodeId,
    /// How that was noticed.
    pub cause: Suspicion,
}

/// How it was noticed that a member does not seem to be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Suspicion {
    /// Nothing was heard of it for too long.
    Silent = 1,
    /// Its process ended, or its link was cut.
    Died = 2,
    /// It closed the link in order.
    Closed = 3,
    /// It broke the protocol.
    Misbehaved = 4,
    /// It refuses this side.
    Refused = 5,
}

impl Answer {
    /// The kind under which it travels.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Answer::Joined { .. } => JOINED,
            Answer::Done => DONE,
            Answer::Current(..) => CURRENT,
            Answer::Changed { .. } => CHANGED,
            Answer::News(_) => NEWS,
            Answer::Error(_) => ERROR,
        }
    }

    /// Reads the body of an answer of this kind.
    ///
    /// # Errors
    /// What is wrong with the bytes; [`DecodeError::Invalid`] for a kind that is no answer.
    pub fn decode(kind: Kind, body: &[u8]) -> Result<Answer, DecodeError> {
        let reader = &mut Reader::new(body);
        let answer = match kind {
            JOINED => Answer::Joined { node: NodeId(reader.u16()?), view: reader.u64()? },
            DONE => Answer::Done,
            CURRENT => Answer::Current(Box::new(View::decode(reader)?), suspects(reader)?),
            CHANGED => Answer::Changed { view: reader.u64()?, change: Change::decode(reader)? },
            NEWS => Answer::News(News::decode(reader)?),
            ERROR => Answer::Error(Refusal::decode(reader)?),
            Kind(other) => return Err(DecodeError::Invalid { at: 0, field: "kind", value: other.into() }),
        };
        reader.clone().finish()?;
        Ok(answer)
    }
}

impl Encode for Answer {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Answer::Joined { node, view } => {
                sink.u16(node.0);
                sink.u64(*view);
            }
            Answer::Done => {}
            Answer::Current(view, suspects) => {
                view.encode(sink);
                encode_suspects(suspects, sink);
            }
            Answer::Changed { view, change } => {
                sink.u64(*view);
                change.encode(sink);
            }
            Answer::News(news) => news.encode(sink),
            Answer::Error(refusal) => refusal.encode(sink),
        }
    }
}

impl Encode for News {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.number);
        sink.u8(self.is_stale.into());
        sink.u64(self.stale_for.0);
        encode_suspects(&self.suspects, sink);
    }
}

fn encode_suspects(suspects: &[Suspect], sink: &mut impl Sink) {
    sink.u32(u32::try_from(suspects.len()).expect("at most MAX_MEMBERS"));
    for suspect in suspects {
        sink.u16(suspect.node.0);
        sink.u8(suspect.cause as u8);
    }
}

fn suspects(reader: &mut Reader<'_>) -> Result<Vec<Suspect>, DecodeError> {
    let mut suspects = Vec::new();
    for _ in 0..reader.length("number of suspects", MAX_MEMBERS)? {
        let node = NodeId(reader.u16()?);
        let cause = match reader.u8()? {
            1 => Suspicion::Silent,
            2 => Suspicion::Died,
            3 => Suspicion::Closed,
            4 => Suspicion::Misbehaved,
            5 => Suspicion::Refused,
            other => return Err(reader.invalid("cause", other, 1)),
        };
        suspects.push(Suspect { node, cause });
    }
    Ok(suspects)
}

impl Decode<'_> for News {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let number = reader.u64()?;
        let (is_stale, stale_for) = (reader.flag("stale")?, Span(reader.u64()?));
        Ok(News { number, is_stale, stale_for, suspects: suspects(reader)? })
    }
}
