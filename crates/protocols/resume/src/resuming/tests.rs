//! Single rules of the client's side, under a protocol that passes on what its callers say and writes down what it hears.

use super::*;
use quintet_contract::{
    Bytes, Disconnect, Effects, Incarnation, Kind, LinkClass, LinkInfo, OwnedFrame, Span,
};
use quintet_errors::Code;
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{PORT_CALLERS, USER};

const ASK: Kind = USER.kind(0);
const TELL: Kind = USER.kind(1);
const REPEATED: Kind = USER.kind(2);
const ANSWER: Kind = USER.kind(3);

#[derive(Debug)]
enum Words {}

impl Requests for Words {
    const WORD: Kind = USER.kind(8);
    const REPLY: Kind = USER.kind(9);

    fn is_answered(kind: Kind) -> bool {
        matches!(kind, ASK | Self::WORD)
    }

    fn is_repeated(kind: Kind) -> bool {
        kind == REPEATED
    }

    fn settled(frame: &Frame<'_>) -> Option<Token> {
        let (settled, _) = frame.body.split_first_chunk().filter(|_| frame.kind == ASK)?;
        Some(Token(u64::from_le_bytes(*settled)))
    }

    fn refusal(_code: Code, _text: &str) -> (Kind, Vec<u8>) {
        unreachable!("a client refuses nothing")
    }
}

const SERVICE: Address = Address::new(0, 16);
const CALLERS: Address = Address { node: quintet_contract::NodeId(1), port: PORT_CALLERS };

/// Says what it is told to, and notes what became of it.
#[derive(Default)]
struct Above {
    refused: Vec<(Token, SendError)>,
    heard: Vec<Token>,
    changes: Vec<PeerChange>,
    has_room: u32,
}

impl Protocol for Above {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(CALLERS, frame) => {
                if let Err(error) = pass_on(frame, out) {
                    self.refused.push((frame.token, error));
                }
            }
            Input::Frame(_, frame) => self.heard.push(frame.token),
            Input::Peer(_, change) => self.changes.push(*change),
            Input::Writable(_) => self.has_room += 1,
            Input::Started | Input::Wake => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// In each of the ways in which a frame goes.
fn pass_on(frame: Frame<'_>, out: &mut dyn Outbox) -> Result<(), SendError> {
    let Frame { kind, token, body, bulk, .. } = frame;
    match kind {
        TELL => {
            out.begin(SERVICE, kind, token, body.len())?.copy_from_slice(body);
            out.commit(body.len());
            Ok(())
        }
        _ if bulk.is_empty() => out.send(SERVICE, kind, token, body),
        _ => out.send_bulk(SERVICE, kind, token, body, bulk.clone()),
    }
}

type Client = Resuming<Above, Words>;

fn give(client: &mut Client, input: Input<'_>) -> Vec<OwnedFrame> {
    give_at(client, 0, input)
}

fn give_at(client: &mut Client, now: u64, input: Input<'_>) -> Vec<OwnedFrame> {
    let mut effects = Effects::default();
    client.handle(Time(now), input, &mut effects);
    effects.frames().into_iter().filter(|(to, _)| *to == SERVICE).map(|(_, frame)| frame).collect()
}

const UP: PeerChange =
    PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 1 << 20) };

fn up(client: &mut Client) -> Vec<OwnedFrame> {
    give(client, Input::Peer(SERVICE, &UP))
}

fn down(client: &mut Client, cause: DownCause) -> Vec<OwnedFrame> {
    give(client, Input::Peer(SERVICE, &PeerChange::Down(cause)))
}

fn say(client: &mut Client, kind: Kind, token: u64, settled: u64) -> Vec<u64> {
    tokens(&say_at(client, 0, kind, token, settled))
}

fn say_at(client: &mut Client, now: u64, kind: Kind, token: u64, settled: u64) -> Vec<OwnedFrame> {
    let body = settled.to_le_bytes();
    give_at(client, now, Input::Frame(CALLERS, Frame::new(kind, Token(token), &body)))
}

fn answer(client: &mut Client, token: u64) -> Vec<OwnedFrame> {
    give(client, Input::Frame(SERVICE, Frame::new(ANSWER, Token(token), &[])))
}

fn reply(client: &mut Client, token: Token, reply: Reply) -> Vec<u64> {
    tokens(&reply_at(client, 0, token, reply))
}

fn reply_at(client: &mut Client, now: u64, token: Token, reply: Reply) -> Vec<OwnedFrame> {
    let body = encode_to_vec(&reply);
    give_at(client, now, Input::Frame(SERVICE, Frame::new(Words::REPLY, token, &body)))
}

fn tokens(frames: &[OwnedFrame]) -> Vec<u64> {
    frames.iter().map(|frame| frame.token.0).collect()
}

fn word(frames: &[OwnedFrame]) -> Word {
    let [frame] = frames else { panic!("one word, and not {frames:?}") };
    assert_eq!(frame.kind, Words::WORD);
    Word::decode_all(&frame.body).expect("a word")
}

const RESUMES: Reply = Reply::Resumes(Span(9));

fn client() -> Client {
    Resuming::new(Some(ClientId(5)), CALLERS, SERVICE, Above::default())
}

/// One that is known.
fn known() -> Client {
    let mut client = client();
    assert_eq!(word(&up(&mut client)), Word::Introduce(ClientId(5)));
    assert!(reply(&mut client, WHO, RESUMES).is_empty());
    client
}

#[test]
fn what_is_unanswered_is_sent_again_in_its_order_and_what_is_new_behind_it() {
    let mut client = known();
    for token in 1..=3 {
        assert_eq!(say(&mut client, ASK, token, 1), [token]);
    }
    answer(&mut client, 2);
    assert!(down(&mut client, DownCause::Died).is_empty());
    assert!(say(&mut client, ASK, 4, 1).is_empty());
    assert_eq!(
        client.inner().refused,
        [(Token(4), SendError::Full)],
        "there is no room while there is no link"
    );
    assert_eq!(word(&up(&mut client)), Word::Resume(ClientId(5)));
    assert!(say(&mut client, ASK, 5, 1).is_empty(), "nor before the reply");
    assert_eq!(reply(&mut client, WHO, RESUMES), [1, 3]);
    assert_eq!((client.inner().has_room, &client.inner().heard[..]), (1, &[Token(2)][..]));
    assert!(matches!(client.inner().changes[..], [PeerChange::Up { .. }]), "it has seen nothing");
    answer(&mut client, 3);
    answer(&mut client, 3);
    assert_eq!(client.inner().heard, [Token(2), Token(3)], "each answer once");
}

#[test]
fn what_nobody_answers_is_sent_again_until_something_after_it_is_answered() {
    let mut client = known();
    say(&mut client, ASK, 1, 1);
    say(&mut client, TELL, 1, 1);
    say(&mut client, REPEATED, 0, 1);
    say(&mut client, ASK, 2, 1);
    say(&mut client, TELL, 2, 1);
    answer(&mut client, 1);
    down(&mut client, DownCause::Closed);
    up(&mut client);
    assert_eq!(reply(&mut client, WHO, RESUMES), [1, 2, 2], "an answer to what was before says nothing");
    answer(&mut client, 2);
    down(&mut client, DownCause::Died);
    up(&mut client);
    assert_eq!(reply(&mut client, WHO, RESUMES), [2, HAS.0], "the last was after it, and is to be noted");
}

#[test]
fn large_data_is_sent_again_as_well() {
    let mut client = known();
    let bulk = Bytes::from(vec![7; 5000]);
    give(&mut client, Input::Frame(CALLERS, Frame { bulk: &bulk, ..Frame::new(ASK, Token(1), &[0; 8]) }));
    down(&mut client, DownCause::Died);
    up(&mut client);
    let body = encode_to_vec(&RESUMES);
    let sent = give(&mut client, Input::Frame(SERVICE, Frame::new(Words::REPLY, WHO, &body)));
    assert!(matches!(&sent[..], [frame] if frame.bulk == bulk && *frame.body == [0; 8]));
}

#[test]
fn a_server_that_does_not_know_of_it_is_used_as_ever() {
    let refusal = |client: &mut Client| {
        give(client, Input::Frame(SERVICE, Frame::new(ANSWER, WHO, b"no")));
    };
    let unknown = |client: &mut Client| drop(reply(client, WHO, Reply::Unknown));
    let silent = |client: &mut Client| {
        say(client, ASK, 9, 1);
        answer(client, 9);
    };
    for says_so in [refusal as fn(&mut Client), unknown, silent] {
        let mut client = client();
        up(&mut client);
        says_so(&mut client);
        client.inner.heard.clear();
        say(&mut client, ASK, 10, 1);
        down(&mut client, DownCause::Died);
        assert_eq!(client.inner().changes.last(), Some(&PeerChange::Down(DownCause::Died)));
        assert!(up(&mut client).is_empty(), "nothing is kept");
        assert!(client.inner().heard.is_empty());
    }
}

#[test]
fn who_was_not_told_that_it_is_known_asks_when_it_is_back() {
    let mut client = client();
    up(&mut client);
    say(&mut client, ASK, 1, 1);
    down(&mut client, DownCause::Died);
    assert_eq!(word(&up(&mut client)), Word::Resume(ClientId(5)));
    assert_eq!(reply(&mut client, WHO, RESUMES), [1]);
}

#[test]
fn a_server_that_has_forgotten_it_or_that_is_silent_is_lost() {
    let mut client = known();
    say(&mut client, ASK, 1, 1);
    down(&mut client, DownCause::Died);
    up(&mut client);
    assert!(reply(&mut client, WHO, Reply::Unknown).is_empty());
    assert_eq!(client.inner().changes.last(), Some(&PeerChange::Down(DownCause::Died)));
    for cause in [DownCause::Silent, DownCause::Misbehaved, DownCause::Refused(3)] {
        let mut client = known();
        down(&mut client, cause);
        assert_eq!(client.inner().changes.last(), Some(&PeerChange::Down(cause)));
    }
}

#[test]
fn who_was_quiet_for_long_asks_whether_it_is_known_before_anything_goes() {
    let mut client = known();
    assert_eq!(tokens(&say_at(&mut client, 4, ASK, 1, 1)), [1], "the reply was for half of a window");
    answer(&mut client, 1);
    assert_eq!(tokens(&say_at(&mut client, 8, ASK, 2, 1)), [2], "and so was the answer");
    // Whatever comes says no more than that it was known when that was asked.
    give_at(&mut client, 50, Input::Frame(SERVICE, Frame::new(ANSWER, Token(2), &[])));
    let asked = say_at(&mut client, 50, ASK, 3, 1);
    assert_eq!((word(&asked), asked[0].token), (Word::Received(Vec::new()), STILL));
    assert!(say_at(&mut client, 51, ASK, 4, 1).is_empty(), "once");
    assert_eq!(client.inner().refused, [3, 4].map(|token| (Token(token), SendError::Full)));
    let room = client.inner().has_room;
    assert!(reply_at(&mut client, 60, STILL, Reply::Noted).is_empty());
    assert_eq!(client.inner().has_room, room + 1, "what waits goes, however long the reply took");
    assert_eq!(tokens(&say_at(&mut client, 64, ASK, 3, 1)), [3]);
    assert_eq!(word(&say_at(&mut client, 65, ASK, 4, 1)), Word::Received(Vec::new()));
}

/// One that was quiet for so long that its server, which ended meanwhile, has forgotten it; what it says when it is back there.
fn forgotten(client: &mut Client) -> Vec<OwnedFrame> {
    assert_eq!(word(&say_at(client, 50, ASK, 9, 9)), Word::Received(Vec::new()), "over a link that is none");
    down(client, DownCause::Died);
    assert_eq!(word(&give_at(client, 60, Input::Peer(SERVICE, &UP))), Word::Resume(ClientId(5)));
    reply_at(client, 61, WHO, Reply::Unknown)
}

#[test]
fn who_is_forgotten_and_has_nothing_under_way_introduces_itself_anew() {
    let mut client = known();
    say(&mut client, ASK, 1, 1);
    answer(&mut client, 1);
    assert_eq!(word(&forgotten(&mut client)), Word::Introduce(ClientId(5)));
    assert!(say_at(&mut client, 62, ASK, 10, 9).is_empty(), "not before it is known");
    assert!(reply_at(&mut client, 63, WHO, RESUMES).is_empty());
    assert_eq!(client.inner().has_room, 1);
    assert_eq!(tokens(&say_at(&mut client, 64, ASK, 9, 9)), [9]);
    assert!(matches!(client.inner().changes[..], [PeerChange::Up { .. }]), "it has seen nothing");
    // It is as any that is known.
    down(&mut client, DownCause::Died);
    up(&mut client);
    assert_eq!(reply(&mut client, WHO, RESUMES), [9]);
}

#[test]
fn a_link_that_ends_before_it_is_known_anew_changes_nothing() {
    let mut client = known();
    forgotten(&mut client);
    for _ in 0..3 {
        down(&mut client, DownCause::Died);
        assert_eq!(word(&up(&mut client)), Word::Resume(ClientId(5)), "it may be known by now");
        let said = reply_at(&mut client, 70, WHO, Reply::Unknown);
        assert_eq!(word(&said), Word::Introduce(ClientId(5)));
    }
    assert!(reply(&mut client, WHO, RESUMES).is_empty());
    assert_eq!(say(&mut client, ASK, 9, 9), [9]);
}

#[test]
fn who_is_not_let_be_known_anew_is_known_by_its_link() {
    let mut client = known();
    forgotten(&mut client);
    assert!(reply(&mut client, WHO, Reply::Unknown).is_empty());
    assert_eq!((client.inner().has_room, say(&mut client, ASK, 9, 9)), (1, vec![9]));
    down(&mut client, DownCause::Died);
    assert_eq!(client.inner().changes.last(), Some(&PeerChange::Down(DownCause::Died)));
}

#[test]
fn who_is_forgotten_with_something_under_way_is_lost() {
    for kind in [ASK, TELL] {
        let mut client = known();
        say(&mut client, ASK, 1, 1);
        answer(&mut client, 1);
        say(&mut client, kind, 2, 1);
        assert!(forgotten(&mut client).is_empty());
        assert_eq!(client.inner().changes.last(), Some(&PeerChange::Down(DownCause::Died)), "{kind:?}");
    }
}

#[test]
fn what_nobody_answers_is_known_to_have_arrived_when_the_server_has_noted_it() {
    let mut client = known();
    say(&mut client, ASK, 1, 1);
    assert_eq!(say(&mut client, TELL, 1, 1), [1], "the answer to come says it");
    let said = answer(&mut client, 1);
    assert_eq!((word(&said), said[0].token), (Word::Received(vec![Token(1)]), HAS));
    assert_eq!(say(&mut client, TELL, 1, 1), [1], "one at a time");
    reply(&mut client, HAS, Reply::Noted);
    down(&mut client, DownCause::Died);
    up(&mut client);
    assert_eq!(tokens(&give(&mut client, Input::Writable(SERVICE))), [0; 0]);
    let said = reply(&mut client, WHO, RESUMES);
    assert_eq!(said, [1, HAS.0], "the second was said behind it");
    reply(&mut client, HAS, Reply::Noted);
    assert_eq!(word(&forgotten(&mut client)), Word::Introduce(ClientId(5)), "nothing is under way");
}

#[test]
fn a_link_that_ends_again_before_all_is_sent_changes_nothing() {
    let mut client = known();
    (1..=3).for_each(|token| drop(say(&mut client, ASK, token, 1)));
    for _ in 0..3 {
        down(&mut client, DownCause::Died);
        up(&mut client);
    }
    assert_eq!(reply(&mut client, WHO, RESUMES), [1, 2, 3]);
    down(&mut client, DownCause::Died);
    up(&mut client);
    assert_eq!(reply(&mut client, WHO, RESUMES), [1, 2, 3]);
}

/// An outbox whose links have all ended.
struct Ended;

impl Outbox for Ended {
    fn begin(&mut self, _: Address, _: Kind, _: Token, _: usize) -> Result<&mut [u8], SendError> {
        Err(SendError::Unreachable)
    }

    fn commit(&mut self, _len: usize) {
        panic!("nothing was begun");
    }

    fn send_bulk(&mut self, _: Address, _: Kind, _: Token, _: &[u8], _: Bytes) -> Result<(), SendError> {
        Err(SendError::Unreachable)
    }

    fn disconnect(&mut self, _peer: Address, _how: Disconnect) {}
}

#[test]
fn what_is_asked_over_a_link_whose_end_is_still_to_be_told_waits_for_the_next_one() {
    let mut client = known();
    assert_eq!(say(&mut client, ASK, 1, 1), [1]);
    let bulk = Bytes::from(vec![7; 5000]);
    for (kind, token, bulk) in [(ASK, 2, &Bytes::new()), (ASK, 3, &bulk), (TELL, 4, &Bytes::new())] {
        let frame = Frame { bulk, ..Frame::new(kind, Token(token), &[0; 8]) };
        client.handle(Time(0), Input::Frame(CALLERS, frame), &mut Ended);
    }
    let refused = [2, 3, 4].map(|token| (Token(token), SendError::Full));
    assert_eq!(client.inner().refused, refused, "there is no room, and no call has failed");
    down(&mut client, DownCause::Died);
    up(&mut client);
    assert_eq!(reply(&mut client, WHO, RESUMES), [1], "only what went is sent again");
    assert_eq!(client.inner().has_room, 1, "and the rest finds room");
}

#[test]
fn the_server_is_told_of_answers_that_no_request_settles() {
    let mut client = known();
    // The first waits for long: nothing is settled.
    say(&mut client, ASK, 1, 1);
    let mut words = Vec::new();
    for token in 2..=200 {
        say(&mut client, ASK, token, 1);
        let said = answer(&mut client, token);
        if !said.is_empty() {
            words.push(word(&said));
            reply(&mut client, HAS, Reply::Noted);
        }
    }
    let tokens = |from: u64| Word::Received((from..from + 64).map(Token).collect());
    assert_eq!(words, [tokens(2), tokens(66), tokens(130)]);
    say(&mut client, ASK, 201, 201);
    for token in 202..260 {
        say(&mut client, ASK, token, token);
        assert!(answer(&mut client, token).is_empty(), "what is settled is not told");
    }
}

#[test]
fn without_an_identity_it_is_not_there() {
    let mut client = Client::new(None, CALLERS, SERVICE, Above::default());
    assert!(up(&mut client).is_empty());
    assert_eq!(say(&mut client, ASK, 1, 1), [1]);
    down(&mut client, DownCause::Died);
    assert_eq!(client.inner().changes.len(), 2);
}

#[test]
fn its_callers_are_told_that_their_calls_go_on() {
    let mut client = client();
    up(&mut client);
    let (body, mut effects) = (encode_to_vec(&RESUMES), Effects::default());
    client.handle(Time(0), Input::Frame(SERVICE, Frame::new(Words::REPLY, WHO, &body)), &mut effects);
    let told = effects.frames();
    assert!(matches!(&told[..], [(CALLERS, frame)] if frame.kind == CALLS_GO_ON));
}
