//! A member's node, with a thread and links of its own.

use super::board::Board;
use super::counted::Counted;
use super::handlers::{Callers, Handlers, OnView};
use super::isochron::Isochron;
use super::links::{Folder, Links, Places, Returning};
use super::maker::IsochronMaker;
use super::peers::{Hosted, Seen};
use super::plain::PlainHandlers;
use super::rejoining::Doors;
use super::state::State;
use super::turns::Turns;
use super::views::{PresentView, Views};
use crate::stack::{self, ISOTACH_MEMBER, IsotachConfig, StackConfig, isotach_member};
use crate::{Code, Error};
use quintet_contract::{Bytes, Input, Meter, NodeId, Outbox, OwnedFrame, PeerChange, Protocol, Time, Token};
use quintet_isotach::codec::LEAVE;
use quintet_isotach::{Member, Misuse, Performed, View, Wait, Witnessed};
use quintet_runtime::{Instance, Node, NodeHandle};
use quintet_wire::registry::{PORT_CALLERS, PORT_SESSION};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, ThreadId};

/// What a member's handles and its handlers share.
pub(super) struct Core {
    pub(super) board: Board,
    pub(super) node: NodeHandle,
    pub(super) me: NodeId,
    pub(super) views: Views,
    pub(super) counted: Counted,
    pub(super) seen: Seen,
    /// Threads that put an isochron together.
    open: Mutex<Vec<ThreadId>>,
    /// Isochrons that have operations, and were neither begun nor given up so far.
    pub(super) unended: AtomicUsize,
    /// Who gives variables new values.
    pub(super) turns: Turns,
}

impl Core {
    /// False if the thread has one open.
    pub(super) fn open(&self, thread: ThreadId) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = !open.contains(&thread);
        if is_first {
            open.push(thread);
        }
        is_first
    }

    pub(super) fn shut(&self, thread: ThreadId) {
        if self.board.is_inherited() {
            return;
        }
        self.open.lock().unwrap_or_else(PoisonError::into_inner).retain(|open| *open != thread);
    }

    /// The present view, and what all members of it know. In a forked child the first one.
    pub(super) fn present(&self) -> (View, Arc<quintet_isotach::Isonet>) {
        if self.board.is_inherited() { self.views.first() } else { self.views.present() }
    }

    pub(super) fn present_view(&self) -> PresentView {
        if self.board.is_inherited() { self.views.first_view() } else { self.views.present_view() }
    }

    /// Ends this member by itself.
    pub(super) fn leave(&self, why: Error) {
        if self.board.is_inherited() {
            return;
        }
        self.board.ended(why);
        self.node.stop();
    }
}

/// A member of an isonet. Cheap to clone; made by [`IsonetBuilder::join`](super::IsonetBuilder::join).
///
/// [`Isonet::close`] ends it together with the others. Dropped, it ends at once, and the others are told that it is gone.
///
/// A forked child is no member: what it asks of its parent's isonet fails with [`Code::Closed`], the view is the first one there, and dropping it disturbs nothing.
#[derive(Clone)]
pub struct Isonet {
    host: Arc<Host>,
}

/// Is told of what a member performs.
pub(super) type Observer = Box<dyn FnMut(&Performed) + Send>;

/// What of a program runs on the thread that executes isochrons.
#[derive(Default)]
pub(super) struct Program {
    pub(super) handlers: Handlers,
    pub(super) plain: PlainHandlers,
    pub(super) observer: Option<Observer>,
    /// Who is told of views that begin.
    pub(super) on_view: Vec<OnView>,
    pub(super) state: State,
    /// It is looked whether what is always so of the member is so.
    pub(super) checks_invariants: bool,
}

/// The threads of a member.
pub(super) struct Host {
    core: Arc<Core>,
    members: u16,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Where those who come back are answered, if they are.
    doors: Mutex<Option<Doors>>,
    /// Others may dial this member until the end.
    folder: Option<Folder>,
}

impl Isonet {
    /// Begins to put an isochron together.
    ///
    /// # Errors
    /// [`Code::BadValue`]: this thread has one open. [`IsonetCause`](crate::IsonetCause): this member has stopped. [`Code::Closed`]: the isonet was closed.
    pub fn isochron(&self) -> Result<Isochron, Error> {
        Isochron::open(&self.host.core)
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.host.core
    }

    /// Makes isochrons that are bound to no thread.
    #[must_use]
    pub fn maker(&self) -> IsochronMaker {
        IsochronMaker { core: Arc::clone(&self.host.core) }
    }

    /// Which member this process is.
    #[must_use]
    pub fn member(&self) -> u16 {
        self.host.core.me.0
    }

    /// How many members there were in the beginning.
    #[must_use]
    pub fn members(&self) -> u16 {
        self.host.members
    }

    /// The present view: which members are left.
    #[must_use]
    pub fn view(&self) -> PresentView {
        self.host.core.present_view()
    }

    /// What the variables and members of the present view are, for [`check`](crate::isotach::check).
    #[must_use]
    pub fn shape(&self) -> Arc<quintet_isotach::Isonet> {
        self.host.core.present().1
    }

    /// The same of all views so far, those that never began here as well.
    #[must_use]
    pub fn views(&self) -> BTreeMap<View, Arc<quintet_isotach::Isonet>> {
        let core = &self.host.core;
        if core.board.is_inherited() { BTreeMap::from([core.views.first()]) } else { core.views.all() }
    }

    /// What this member has done since this was asked last: nothing unless it keeps a witness. All there is once it is closed.
    #[must_use]
    pub fn take_witness(&self) -> Vec<Witnessed> {
        self.host.core.board.take_witness()
    }

    /// Waits until all isochrons of this member are executed, all members close, and its handlers have had all that was for them; and ends. It cannot be closed again
    /// ([`Code::Closed`]).
    ///
    /// # Errors
    /// [`Code::TaskFailed`], [`Code::NoHandler`]: a handler of this member panicked, or there is none for a message.
    /// [`IsonetCause`](crate::IsonetCause): this member has stopped. [`Code::BadValue`]: an isochron was neither executed, begun nor
    /// abandoned; a handler would wait for itself. Ended is it in any case but the last.
    pub fn close(&self) -> Result<(), Error> {
        let core = &self.host.core;
        core.board.check_process()?;
        if core.board.is_poller() {
            return Err(super::error::would_wait_for_itself());
        }
        let waited = core.board.wait_for_answers().and_then(|()| {
            let frame = OwnedFrame { kind: LEAVE, token: Token(0), body: Bytes::new(), bulk: Bytes::new() };
            core.node.send(PORT_CALLERS, PORT_SESSION, frame);
            core.board.wait_for_all_to_leave()
        });
        if waited.is_ok() {
            // All that is for handlers here is on its way to them: the thread ends behind it.
            self.host.end_threads();
        }
        let left = core.board.end();
        self.host.stop();
        waited?;
        left.map_or(Ok(()), Err)?;
        match (core.board.take_dropped(), core.unended.load(Ordering::Relaxed)) {
            (Some(operations), _) => Err(super::error::of_misuse(&Misuse::NeverEnded { operations })),
            (None, 0) => Ok(()),
            (None, count) => Err(super::error::unended(count)),
        }
    }
}

impl Host {
    /// Starts the thread, and waits until all members are linked, or this one has come back into a view.
    pub(super) fn start(
        config: IsotachConfig,
        program: Program,
        (places, doors, returning): (Places, Option<Doors>, Returning),
        links: Links,
    ) -> Result<Isonet, Error> {
        let (isonet, me, until) = (Arc::clone(&config.isonet), config.me, links.until);
        let (view, comes_back) = (config.view, config.joins.is_some());
        let members =
            u16::try_from(isonet.topology().nodes().count()).expect("there are MAX_MEMBERS at most");
        let Program { handlers, plain, observer, on_view, state, checks_invariants } = program;
        let Places { listener, folder, .. } = places;
        let stack_config = StackConfig { isotach: Some(config), ..links.config() };
        let placed = isotach_member(&stack_config);
        let mut node = links.node(me, listener)?;
        let board =
            if comes_back { Board::awaiting_view()? } else { Board::awaiting(placed.asks.iter().copied())? };
        links.dial(&mut node, me, comes_back);
        let views = Views::new(view, isonet);
        let core = Arc::new(Core {
            board,
            node: node.handle(),
            me,
            views,
            counted: Counted::default(),
            seen: Seen::default(),
            open: Mutex::default(),
            unended: AtomicUsize::new(0),
            turns: Turns::default(),
        });
        let observed =
            placed.map(|member| Observed::new(member, Arc::clone(&core), observer, checks_invariants));
        let stack = stack::node(me, &stack_config, vec![observed]);
        let instance = Instance::new(Hosted { stack, core: Arc::clone(&core) });
        let instance = links.recorded(instance, me, ISOTACH_MEMBER, &stack_config)?;
        let redials = links.redials(&returning);
        let callers = Callers { core: Arc::clone(&core), redials, handlers, plain, on_view, state };
        node.add(PORT_CALLERS, Instance::new(callers));
        node.add(PORT_SESSION, instance);
        let core_of_turns = Arc::clone(&core);
        node.after_turns(Box::new(move || core_of_turns.board.wake_sleepers()));
        let thread = Mutex::new(Some(spawn(node, Arc::clone(&core))?));
        let host = Host { core, members, thread, doors: Mutex::new(doors), folder };
        host.core.board.wait_for_begin(until)?;
        Ok(Isonet { host: Arc::new(host) })
    }

    fn stop(&self) {
        self.core.board.ended(Error::new(Code::Closed, "this isonet was closed"));
        self.end_threads();
    }

    fn end_threads(&self) {
        drop(self.doors.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.core.node.stop();
        // A handler that drops the last handle is on a thread that ends behind it.
        if !self.core.board.is_poller() {
            thread.into_iter().for_each(|thread| thread.join().unwrap_or_default());
        }
    }

    /// Lets a forked child have nothing of it: its threads are not there, its locks may be held for good, and its folder is its parent's.
    fn disown(&mut self) {
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let doors = self.doors.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        std::mem::forget((thread, doors, self.folder.take(), Arc::clone(&self.core)));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if self.core.board.is_inherited() { self.disown() } else { self.stop() }
    }
}

/// Runs a member's node until it is stopped. However it ends, who waits for it is told.
fn spawn(mut node: Node, core: Arc<Core>) -> Result<JoinHandle<()>, Error> {
    let run = move || {
        let ending = Ending(core);
        ending.0.board.set_poller();
        if let Err(error) = node.run() {
            ending.0.leave(error.into());
        }
    };
    Ok(std::thread::Builder::new().name("quintet-isonet".to_owned()).spawn(run)?)
}

/// Tells that a thread has ended, also by a panic.
struct Ending(Arc<Core>);

impl Drop for Ending {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.leave(Error::new(Code::TaskFailed, "a handler panicked: this member has left its isonet"));
        }
        self.0.board.wake_sleepers();
    }
}

/// A member, with what is seen of it beside its frames.
pub(super) struct Observed {
    member: Member,
    core: Arc<Core>,
    observer: Option<Observer>,
    checks_invariants: bool,
}

impl Observed {
    fn new(
        mut member: Member,
        core: Arc<Core>,
        observer: Option<Observer>,
        checks_invariants: bool,
    ) -> Observed {
        if observer.is_some() {
            member.node_mut().keep_performed();
        }
        Observed { member, core, observer, checks_invariants }
    }

    pub(super) fn waits(&self) -> BTreeMap<NodeId, Wait> {
        self.member.waits()
    }
}

impl Protocol for Observed {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.member.handle(now, input, out);
        if let Input::Peer(peer, PeerChange::Up { .. }) = input {
            self.core.board.linked(peer);
        }
        self.core.board.witnessed(self.member.node_mut().take_witness());
        if let Some(observe) = &mut self.observer {
            self.member.node_mut().take_performed().iter().for_each(observe);
        }
        let broken = if self.checks_invariants { self.member.broken_invariant() } else { None };
        broken.into_iter().for_each(|broken| self.core.leave(super::error::broken_invariant(broken)));
    }

    fn deadline(&self) -> Option<Time> {
        self.member.deadline()
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        self.core.counted.tell(self.member.counters());
        self.member.measure(meter);
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.core.counted.end(self.member.counters());
    }
}

#[cfg(test)]
mod tests;
