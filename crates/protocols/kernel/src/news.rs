//! What a kernel tells the callers of its node, of which there is one at most: its host.

use quintet_contract::{DownCause, Kind};
use quintet_wire::registry::PORTS;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// From a kernel to the callers of its node: body is a [`ServerNews`]. It answers nothing, and goes over no link.
pub const SERVER_NEWS: Kind = PORTS.kind(2);

/// How it goes with the server. All numbers are little-endian: `0` up | `1` gone: cause u8 (0 closed, 1 died, 2 silent, 3 broke the protocol), or `4` and a code u16.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerNews {
    /// There is a session with it.
    Up,
    /// There is none any more, or it was refused, and what clients had with it is over.
    Gone(DownCause),
}

impl Encode for ServerNews {
    fn encode(&self, sink: &mut impl Sink) {
        let ServerNews::Gone(cause) = self else { return sink.u8(0) };
        sink.u8(1);
        match cause {
            DownCause::Closed => sink.u8(0),
            DownCause::Died => sink.u8(1),
            DownCause::Silent => sink.u8(2),
            DownCause::Misbehaved => sink.u8(3),
            DownCause::Refused(code) => {
                sink.u8(4);
                sink.u16(*code);
            }
        }
    }
}

impl Decode<'_> for ServerNews {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.u8()? {
            0 => return Ok(ServerNews::Up),
            1 => {}
            other => return Err(reader.invalid("news of a server", other, 1)),
        }
        Ok(ServerNews::Gone(match reader.u8()? {
            0 => DownCause::Closed,
            1 => DownCause::Died,
            2 => DownCause::Silent,
            3 => DownCause::Misbehaved,
            4 => DownCause::Refused(reader.u16()?),
            other => return Err(reader.invalid("how a server has gone", other, 1)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_wire::encode_to_vec;

    #[test]
    fn news_come_back() {
        let causes = [
            DownCause::Closed,
            DownCause::Died,
            DownCause::Silent,
            DownCause::Misbehaved,
            DownCause::Refused(513),
        ];
        for news in causes.map(ServerNews::Gone).into_iter().chain([ServerNews::Up]) {
            assert_eq!(ServerNews::decode_all(&encode_to_vec(&news)), Ok(news));
        }
        for bytes in [&[][..], &[2], &[1, 5], &[1], &[0, 0]] {
            assert!(ServerNews::decode_all(bytes).is_err(), "{bytes:?}");
        }
    }
}
