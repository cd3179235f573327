//! A client that takes all that is in a space.

use quintet_contract::{Address, Input, NodeId, Outbox, PeerChange, Protocol, Time, Token};
use quintet_session::Placed;
use quintet_stack::{PORT_RELAY, Stack, StackConfig, asking_space, node};
use quintet_tuple_space::{Answer, Request, Value, Wait, template};
use quintet_wire::registry::PORT_SPACE;

pub(crate) struct Drain {
    space: Address,
    pub(crate) taken: Vec<(String, i64)>,
    pub(crate) is_empty: bool,
}

impl Drain {
    fn take(&self, out: &mut dyn Outbox, token: u64) {
        let template = template![?str, ?i64];
        let request = Request::Take { wait: Wait::AtOnce, lease: None, template: &template };
        request.send(out, self.space, Token(token), Token(token)).expect("the link takes one request");
    }
}

impl Protocol for Drain {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Peer(_, PeerChange::Up { .. }) => self.take(out, 1),
            Input::Frame(_, frame) => {
                match Answer::decode(frame.kind, frame.body, frame.bulk).expect("the space's bytes are good")
                {
                    Answer::Tuple(tuple, None) => {
                        let [Value::Text(name), Value::I64(item)] = tuple.values() else {
                            panic!("nobody puts {tuple:?}")
                        };
                        self.taken.push((name.to_string(), *item));
                        self.take(out, frame.token.0 + 1);
                    }
                    Answer::NoMatch => self.is_empty = true,
                    other => panic!("a take is not answered so: {other:?}"),
                }
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// The same as a node that asks the space of another one.
pub(crate) fn client(at: NodeId, server: NodeId, config: &StackConfig) -> Stack<Drain> {
    let space = Address { node: server, port: PORT_SPACE };
    let placed = asking_space(PORT_RELAY, Drain { space, taken: Vec::new(), is_empty: false });
    node(at, config, vec![Placed { asks: vec![space], ..placed }])
}
