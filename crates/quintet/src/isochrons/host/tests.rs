//! An isonet as a process finds it that was forked while another thread had every lock.

use super::*;
use crate::{Lab, Variable};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);
const X: Variable = Variable(1);

/// The one member of an isonet, with an isochron that is put together, one that is under way and a plain message.
struct Inherited {
    isonet: Isonet,
    maker: IsochronMaker,
    put_together: Isochron,
    begun: [crate::PendingIsochron; 3],
    message: crate::PendingPlain,
    folder: PathBuf,
}

fn inherited() -> Inherited {
    let builder = Lab::embedded().isochrons("test").member(0, 1).variable(X, 8);
    let isonet = builder.plain_handler(7, |_| ()).join().expect("it joins");
    let maker = isonet.maker();
    let writes = |opened: Result<Isochron, Error>| {
        let mut isochron = opened.expect("it has joined");
        isochron.write(X, vec![1; 8]).expect("there is such a variable");
        isochron
    };
    let put_together = writes(isonet.isochron());
    let begun = [(); 3].map(|()| writes(maker.isochron()).begin().expect("it has joined"));
    let message = isonet.begin_plain(0, 7, "message").expect("it has joined");
    let core = &isonet.host.core;
    core.board.inherit();
    core.views.hold_for_ever();
    std::mem::forget(core.open.lock());
    let folder = isonet.host.folder.as_ref().expect("it has one").0.clone();
    Inherited { maker, put_together, begun, message, folder, isonet }
}

fn is_refused<T>(result: Result<T, Error>) -> bool {
    let error = result.err().expect("it is refused");
    error.code() == Code::Closed && error.text().contains("made in another process; join one here")
}

/// What is done with it, and that it was.
fn uses(inherited: Inherited) -> Receiver<&'static str> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let say = |what| tell.send(what).expect("it listens");
        let Inherited { isonet, maker, put_together, begun: [mut waited, told, finished], message, folder } =
            inherited;
        assert!(is_refused(isonet.isochron()) && is_refused(maker.isochron()));
        assert!(is_refused(put_together.execute()));
        say("isochron");
        assert!(is_refused(isonet.begin_plain(0, 7, "message")) && is_refused(message.finish()));
        say("plain");
        assert!(waited.is_done() && is_refused(waited.wait(LIMIT).expect("at once")));
        assert!(is_refused(finished.finish()));
        say("wait");
        let (call, called) = channel();
        let (calls_end, calls_then) = (call.clone(), call.clone());
        waited.notify(Box::new(move || call.send("answer").expect("it listens")));
        maker.notify_end(Box::new(move || calls_end.send("end").expect("it listens")));
        told.then(move |executed| {
            calls_then.send(if is_refused(executed) { "then" } else { "" }).expect("it listens")
        });
        assert_eq!(called.iter().collect::<Vec<_>>(), ["answer", "end", "then"]);
        say("notify");
        assert_eq!(
            (isonet.view().members, isonet.views().len(), isonet.shape().variables().count()),
            (vec![0], 1, 1)
        );
        assert!(isonet.take_witness().is_empty() && maker.end().is_some() && is_refused(isonet.counters()));
        say("look");
        assert!(is_refused(isonet.close()));
        drop((isonet, maker, waited));
        assert!(folder.exists(), "its parent listens there");
        std::fs::remove_dir_all(folder).expect("it may be removed");
        say("end");
    });
    told
}

#[test]
fn a_forked_process_is_refused_and_waits_for_no_lock() {
    let told = uses(inherited());
    for what in ["isochron", "plain", "wait", "notify", "look", "end"] {
        assert_eq!(told.recv_timeout(LIMIT), Ok(what), "it hangs, or has failed");
    }
}

#[test]
fn a_member_of_which_something_is_not_so_that_is_always_says_what_and_ends() {
    let isonet = Lab::embedded().isochrons("test").member(0, 1).check_invariants().join().expect("it joins");
    isonet.host.core.leave(crate::isochrons::error::broken_invariant("one and one are two"));
    let ended = isonet.isochron().err().expect("it has left");
    assert!(ended.code() == Code::Mismatch && ended.text().ends_with("hold: one and one are two"), "{ended}");
    assert_eq!(isonet.close().map_err(|error| error.code()), Err(Code::Mismatch));
}
