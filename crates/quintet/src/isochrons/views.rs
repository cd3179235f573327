//! The views of an isonet as one member sees them, and the token manager in its process.

use super::host::{Core, Ending};
use super::links::{Links, PORTS};
use crate::Error;
use crate::stack::{StackConfig, TokenManagerConfig, token_manager_beside};
use quintet_contract::{Bytes, NodeId, OwnedFrame, Token};
use quintet_isotach::codec::{NEXT_VIEW, NextView};
use quintet_isotach::{Isonet, Topology, View};
use quintet_link::Listener;
use quintet_runtime::{Instance, NodeHandle};
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{PORT_CALLERS, PORT_SESSION};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A view of an isonet: which members are left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PresentView {
    /// Its number. The first is 1; some are left out.
    pub view: View,
    /// Its members, ascending.
    pub members: Vec<u16>,
}

impl PresentView {
    pub(super) fn of((view, isonet): &(View, Arc<Isonet>)) -> PresentView {
        PresentView { view: *view, members: isonet.topology().nodes().map(|node| node.0).collect() }
    }
}

/// The views, and what is needed to serve them.
pub(super) struct Views {
    links: Links,
    first: (View, Arc<Isonet>),
    state: Mutex<State>,
}

struct State {
    present: View,
    all: BTreeMap<View, Arc<Isonet>>,
    /// Where a token manager of this process will listen.
    listener: Option<Box<dyn Listener>>,
    switch: Option<(NodeHandle, JoinHandle<()>)>,
    /// The token manager that was dialled last.
    dialled: Option<NodeId>,
}

impl Views {
    pub(super) fn new(
        present: View,
        isonet: Arc<Isonet>,
        links: Links,
        listener: Box<dyn Listener>,
    ) -> Views {
        let first = (present, isonet);
        let all = BTreeMap::from([first.clone()]);
        let state = State { present, all, listener: Some(listener), switch: None, dialled: None };
        Views { links, first, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As a forked child may find it.
    #[cfg(test)]
    pub(super) fn hold_for_ever(&self) {
        core::mem::forget(self.state());
    }

    /// The first one, which is known without the lock.
    pub(super) fn first(&self) -> (View, Arc<Isonet>) {
        self.first.clone()
    }

    pub(super) fn present(&self) -> (View, Arc<Isonet>) {
        let state = self.state();
        (state.present, Arc::clone(&state.all[&state.present]))
    }

    pub(super) fn all(&self) -> BTreeMap<View, Arc<Isonet>> {
        self.state().all.clone()
    }

    pub(super) fn recorded(
        &self,
        instance: Instance,
        id: NodeId,
        name: &str,
        config: &StackConfig,
    ) -> Result<Instance, Error> {
        self.links.recorded(instance, id, name, config)
    }

    /// Ends the token manager of this process, if there is one: its thread.
    pub(super) fn end(&self) -> Option<JoinHandle<()>> {
        let (handle, thread) = self.state().switch.take()?;
        handle.stop();
        Some(thread)
    }
}

impl Core {
    /// A view was agreed on.
    pub(super) fn go_to(self: &Arc<Self>, view: View, text: &str, topology: Topology) -> Result<(), Error> {
        let isonet = Arc::new(self.present().1.among(topology));
        self.views.state().all.insert(view, isonet);
        self.serve_view(view, text)
    }

    /// Has a view's token manager begin it, if that is in this process: all are in view 0 until they are told of another one. And dials it.
    pub(super) fn serve_view(self: &Arc<Self>, view: View, text: &str) -> Result<(), Error> {
        let isonet = Arc::clone(&self.views.state().all[&view]);
        let manager = isonet.topology().switches()[0].manager;
        if manager == token_manager_beside(self.me) {
            self.start_switch(TokenManagerConfig { switch: 0, view: View(0), isonet })?;
        }
        let running = self.views.state().switch.as_ref().map(|(handle, _)| handle.clone());
        if let Some(handle) = running {
            let body = encode_to_vec(&NextView { view, topology: text }).into();
            let frame = OwnedFrame { kind: NEXT_VIEW, token: Token(0), body, bulk: Bytes::new() };
            handle.send(PORT_CALLERS, PORT_SESSION, frame);
        }
        if self.views.state().dialled.replace(manager) == Some(manager) {
            return Ok(());
        }
        let beside = NodeId(manager.0 - token_manager_beside(NodeId(0)).0);
        if let Some(redial) = self.views.links.switch_beside(beside) {
            self.node.dial(manager, &PORTS, redial);
        }
        Ok(())
    }

    fn start_switch(self: &Arc<Self>, config: TokenManagerConfig) -> Result<(), Error> {
        let Some(listener) = self.views.state().listener.take() else { return Ok(()) };
        let mut node = self.views.links.switch(config, listener)?;
        let (handle, ending) = (node.handle(), Ending(Arc::clone(self)));
        let run = move || {
            if let Err(error) = node.run() {
                ending.0.leave(error.into());
            }
        };
        let thread = std::thread::Builder::new().name("quintet-switch".to_owned()).spawn(run)?;
        self.views.state().switch = Some((handle, thread));
        Ok(())
    }

    /// A view has begun.
    pub(super) fn begin(&self, view: View) -> PresentView {
        self.views.state().present = view;
        PresentView::of(&self.present())
    }
}
