//! What a host is told of the log of one of its protocols.

use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};
use std::fmt;

/// The longest text.
const MAX_TEXT_BYTES: usize = 1024;

/// How it goes with a log, told to the callers of its node under [`LOG_NEWS`](quintet_wire::registry::LOG_NEWS).
///
/// ```text
/// 1 reading: read u64, of u64 | 2 open: life u64, inputs u64, torn bytes u64 | 3 refused: text | 4 failed: text
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogNews {
    /// It is read back.
    Reading {
        /// Bytes read so far.
        read: u64,
        /// Bytes that there are.
        of: u64,
    },
    /// All is as it was, and requests are served.
    Open {
        /// Which life of the protocol begins, from 1. 0: a replica has no log so far, and waits for the others.
        life: u64,
        /// Inputs that were done again.
        inputs: u64,
        /// Bytes at the end that a crash had left, of which nobody was told.
        torn_bytes: u64,
    },
    /// It cannot be used: it is damaged, of another version or of somebody else. Nothing was changed, and nothing is served.
    Refused(String),
    /// The disk has failed. What was answered before is on it; nothing is answered any more.
    Failed(String),
    /// A replica has the log on its disk, and counts in a majority from now on: told once in each of its lives.
    Votes,
}

/// On one line, for people.
impl fmt::Display for LogNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogNews::Reading { read, of } => write!(f, "the log is read: {read} of {of} bytes"),
            LogNews::Open { life: 0, .. } => {
                f.write_str("there is no log so far: this replica waits until all the others are there")
            }
            LogNews::Open { life: 1, .. } => f.write_str("a new log begins"),
            LogNews::Open { life, inputs, torn_bytes } => {
                write!(f, "the log is read: life {life} begins, {inputs} inputs were done again")?;
                match torn_bytes {
                    0 => Ok(()),
                    torn => write!(f, "; {torn} bytes at its end were not whole, of which nobody was told"),
                }
            }
            LogNews::Refused(text) | LogNews::Failed(text) => f.write_str(text),
            LogNews::Votes => f.write_str("this replica has the log, and votes"),
        }
    }
}

impl Encode for LogNews {
    fn encode(&self, sink: &mut impl Sink) {
        let (tag, numbers, text) = match self {
            LogNews::Reading { read, of } => (1, vec![*read, *of], ""),
            LogNews::Open { life, inputs, torn_bytes } => (2, vec![*life, *inputs, *torn_bytes], ""),
            LogNews::Refused(text) => (3, Vec::new(), text.as_str()),
            LogNews::Failed(text) => (4, Vec::new(), text.as_str()),
            LogNews::Votes => (5, Vec::new(), ""),
        };
        sink.u8(tag);
        numbers.into_iter().for_each(|number| sink.u64(number));
        if matches!(self, LogNews::Refused(_) | LogNews::Failed(_)) {
            sink.counted(&text.as_bytes()[..text.floor_char_boundary(MAX_TEXT_BYTES)]);
        }
    }
}

impl Decode<'_> for LogNews {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            1 => LogNews::Reading { read: reader.u64()?, of: reader.u64()? },
            2 => LogNews::Open { life: reader.u64()?, inputs: reader.u64()?, torn_bytes: reader.u64()? },
            3 => LogNews::Refused(reader.text("text", MAX_TEXT_BYTES)?.to_owned()),
            4 => LogNews::Failed(reader.text("text", MAX_TEXT_BYTES)?.to_owned()),
            5 => LogNews::Votes,
            other => return Err(reader.invalid("news", other, 1)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_wire::encode_to_vec;

    #[test]
    fn news_come_back_and_a_long_text_is_cut_at_a_character() {
        let all = [
            LogNews::Reading { read: 1, of: 2 },
            LogNews::Open { life: 3, inputs: 4, torn_bytes: 5 },
            LogNews::Refused("damaged".to_owned()),
            LogNews::Failed(String::new()),
            LogNews::Votes,
        ];
        for news in all {
            assert_eq!(LogNews::decode_all(&encode_to_vec(&news)), Ok(news));
        }
        let long = LogNews::Refused("x".to_owned() + &"é".repeat(600));
        let Ok(LogNews::Refused(cut)) = LogNews::decode_all(&encode_to_vec(&long)) else {
            panic!("it is news")
        };
        assert_eq!(cut.len(), 1023);
    }
}
