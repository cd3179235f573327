//! What a layer passes on untouched: work, cells, and whatever is for its own node.

use quintet_contract::{
    Address, Bytes, CELL_WORDS, Cell, CellReader, CellWriter, Disconnect, Effect, Effects, Input, Kind,
    Outbox, Protocol, Seen, SendError, Stage, Time, Token, cell,
};
use quintet_wire::registry::USER;

/// A service of the layer's own node.
const OWN: Address = Address::new(1, 2);
const KIND: Kind = USER.kind(0);

/// Does each of it when it starts.
pub(crate) struct Doer {
    writer: CellWriter<u64>,
    reader: CellReader<u64>,
    saw: Option<u64>,
}

impl Protocol for Doer {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if input != Input::Started {
            return;
        }
        out.work(Stage(3), 4);
        self.writer.poke(5, out);
        self.saw = Some(self.reader.peek(out));
        out.begin(OWN, KIND, Token(6), 4).expect("nothing is refused").copy_from_slice(b"body");
        out.stamp();
        out.commit(2);
        out.send_bulk(OWN, KIND, Token(7), b"head", Bytes::from_static(b"bulk")).expect("nothing is refused");
        out.disconnect(Address::new(9, 9), Disconnect::UntilNextLink);
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// The host: writes down what reaches it.
#[derive(Default)]
struct Host {
    effects: Effects,
    pokes: Vec<u64>,
    stamps: usize,
}

impl Outbox for Host {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        self.effects.begin(to, kind, token, at_most)
    }

    fn commit(&mut self, len: usize) {
        self.effects.commit(len);
    }

    fn stamp(&mut self) {
        self.stamps += 1;
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        self.effects.send_bulk(to, kind, token, head, bulk)
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.effects.disconnect(peer, how);
    }

    fn work(&mut self, stage: Stage, units: u32) {
        self.effects.work(stage, units);
    }

    fn poke(&mut self, _cell: &Cell, words: [u64; CELL_WORDS]) {
        self.pokes.push(words[0]);
    }

    fn peek(&mut self, _cell: &Cell, seen: &mut Seen) {
        seen.words[0] = 8;
    }
}

/// `layer` puts the layer over a protocol, `above` finds that protocol again.
pub(crate) fn check<P: Protocol>(layer: impl FnOnce(Doer) -> P, above: impl Fn(&P) -> &Doer) {
    let (writer, reader) = cell(0u64);
    let mut layer = layer(Doer { writer, reader, saw: None });
    let mut host = Host::default();
    layer.handle(Time(1), Input::Started, &mut host);
    assert_eq!((host.pokes, host.stamps, above(&layer).saw), (vec![5], 1, Some(8)));
    let effects: Vec<_> = host.effects.drain().collect();
    let [Effect::Work(Stage(3), 4), Effect::Sent(OWN, short), Effect::Sent(OWN, long), end] = &effects[..]
    else {
        panic!("{effects:?}");
    };
    assert_eq!(
        (short.kind, short.token, &short.body[..], &short.bulk[..]),
        (KIND, Token(6), &b"bo"[..], &[][..])
    );
    assert_eq!(
        (long.kind, long.token, &long.body[..], &long.bulk[..]),
        (KIND, Token(7), &b"head"[..], &b"bulk"[..])
    );
    assert_eq!(end, &Effect::Disconnected(Address::new(9, 9), Disconnect::UntilNextLink));
}
