//! Requests.

use super::REQUEST;
use crate::limits::MAX_GRANTS;
use bytes::Bytes;
use quintet_contract::{Address, Identity, Kind, Outbox, OwnedFrame, SendError, Span, Token};
use quintet_wire::services::process::{
    FileHash, MAX_START_BYTES, Start, read_hashes, read_signal, write_hashes,
};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink, encode_to_vec};
use std::collections::BTreeMap;

/// What a program asks of a launcher.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Which of these files are kept?
    Have {
        /// By their hashes; [`MAX_HASHES`](crate::limits::MAX_HASHES) at most.
        hashes: Vec<FileHash>,
    },
    /// A file is to be kept, for jobs that need it. It may be dropped again once no job has it.
    Store {
        /// Its hash. Contents of another one are refused.
        hash: FileHash,
        /// What it holds.
        contents: Bytes,
    },
    /// A process is to be started. The job begins with its first one.
    Start {
        /// The job, chosen by who asks, at random. It belongs to the session of who asked first.
        job: u128,
        /// What is to be started.
        start: Box<Start>,
    },
    /// What happens next in a job?
    Next {
        /// Which job. One request of each waits at a time.
        job: u128,
        /// How long it waits for something to happen.
        wait: Span,
    },
    /// A process is to get a signal.
    Signal {
        /// Which process.
        process: u64,
        /// The signal's number, as Linux counts.
        signal: u8,
        /// Whether all of its process group get it; else it alone.
        to_group: bool,
    },
    /// Everything of a job is to end, and its folder to go.
    End {
        /// Which job.
        job: u128,
    },
    /// How is the machine?
    Info,
    /// Which processes of jobs run on the machine, by their numbers in the system?
    Running {
        /// Those with higher ones.
        after: u32,
    },
    /// Who may ask for what, in the place of all that was said of that before. Callers of the launcher's own node may say it.
    Grants {
        /// By identity; [`MAX_GRANTS`] at most. Who is not among them may nothing.
        grants: BTreeMap<Identity, Grant>,
    },
}

/// What an identity may ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Grant {
    /// To start programs that the machine has.
    pub run: bool,
    /// To send programs and other files along.
    pub code: bool,
}

impl Request {
    /// The body and the bulk of the frame that says this.
    #[must_use]
    pub fn parts(&self) -> (Vec<u8>, Bytes) {
        let bulk = match self {
            Request::Store { contents, .. } => contents.clone(),
            Request::Start { start, .. } => encode_to_vec(&**start).into(),
            _ => Bytes::new(),
        };
        (encode_to_vec(self), bulk)
    }

    /// The frame that says this.
    #[must_use]
    pub fn frame(&self, token: Token) -> OwnedFrame {
        let (body, bulk) = self.parts();
        OwnedFrame { kind: REQUEST, token, body: body.into(), bulk }
    }

    /// Sends it.
    ///
    /// # Errors
    /// As [`Outbox::begin`].
    pub fn send(&self, out: &mut dyn Outbox, to: Address, token: Token) -> Result<(), SendError> {
        let (body, bulk) = self.parts();
        match bulk.is_empty() {
            true => out.send(to, REQUEST, token, &body),
            false => out.send_bulk(to, REQUEST, token, &body, bulk),
        }
    }

    /// Reads a request.
    ///
    /// # Errors
    /// What is wrong with the bytes, of the body or of the bulk; [`DecodeError::Invalid`] for a kind that is no request.
    pub fn decode(kind: Kind, body: &[u8], bulk: &Bytes) -> Result<Request, DecodeError> {
        if kind != REQUEST {
            return Err(DecodeError::Invalid { at: 0, field: "kind", value: kind.0.into() });
        }
        let reader = &mut Reader::new(body);
        let mut is_bulk_read = false;
        let request = match reader.u8()? {
            0 => Request::Have { hashes: read_hashes(reader)? },
            1 => {
                is_bulk_read = true;
                Request::Store { hash: FileHash(reader.array()?), contents: bulk.clone() }
            }
            2 => {
                is_bulk_read = true;
                Request::Start { job: read_job(reader)?, start: Box::new(read_start(bulk)?) }
            }
            3 => Request::Next { job: read_job(reader)?, wait: Span(reader.u64()?) },
            4 => Request::Signal {
                process: reader.u64()?,
                signal: read_signal(reader)?,
                to_group: reader.flag("to its group")?,
            },
            5 => Request::End { job: read_job(reader)? },
            6 => Request::Info,
            7 => Request::Grants { grants: read_grants(reader)? },
            8 => Request::Running { after: reader.u32()? },
            other => return Err(reader.invalid("request", other, 1)),
        };
        reader.clone().finish()?;
        match bulk.len() {
            left @ 1.. if !is_bulk_read => Err(DecodeError::Trailing { at: body.len(), left }),
            _ => Ok(request),
        }
    }
}

fn read_job(reader: &mut Reader<'_>) -> Result<u128, DecodeError> {
    Ok(u128::from_le_bytes(reader.array()?))
}

fn read_start(bulk: &Bytes) -> Result<Start, DecodeError> {
    if bulk.len() > MAX_START_BYTES {
        let (value, limit) = (bulk.len() as u64, MAX_START_BYTES as u64);
        return Err(DecodeError::TooLarge { at: 0, field: "what is to be started", value, limit });
    }
    Start::decode_all(bulk)
}

fn read_grants(reader: &mut Reader<'_>) -> Result<BTreeMap<Identity, Grant>, DecodeError> {
    let mut grants = BTreeMap::new();
    for _ in 0..reader.length("number of grants", MAX_GRANTS)? {
        let at = reader.at();
        let identity = Identity(reader.array()?);
        let is_next = grants.last_key_value().is_none_or(|(last, _)| *last < identity);
        if !is_next {
            return Err(DecodeError::Invalid {
                at,
                field: "order of identities",
                value: identity.0[0].into(),
            });
        }
        let run = reader.flag("run")?;
        grants.insert(identity, Grant { run, code: reader.flag("code")? });
    }
    Ok(grants)
}

impl Encode for Request {
    /// The body. What travels in the bulk is not of it.
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Request::Have { hashes } => {
                sink.u8(0);
                write_hashes(hashes, sink);
            }
            Request::Store { hash, .. } => {
                sink.u8(1);
                sink.bytes(&hash.0);
            }
            Request::Start { job, .. } => {
                sink.u8(2);
                sink.bytes(&job.to_le_bytes());
            }
            Request::Next { job, wait } => {
                sink.u8(3);
                sink.bytes(&job.to_le_bytes());
                sink.u64(wait.0);
            }
            Request::Signal { process, signal, to_group } => {
                sink.u8(4);
                sink.u64(*process);
                sink.u8(*signal);
                sink.u8((*to_group).into());
            }
            Request::End { job } => {
                sink.u8(5);
                sink.bytes(&job.to_le_bytes());
            }
            Request::Info => sink.u8(6),
            Request::Running { after } => {
                sink.u8(8);
                sink.u32(*after);
            }
            Request::Grants { grants } => {
                sink.u8(7);
                sink.u32(u32::try_from(grants.len()).expect("at most MAX_GRANTS"));
                for (identity, grant) in grants {
                    sink.bytes(&identity.0);
                    sink.u8(grant.run.into());
                    sink.u8(grant.code.into());
                }
            }
        }
    }
}
