//! A new view: pulses begin anew, in its topology.

use super::{TokenManager, frame};
use crate::codec::{INSTALLED, Install, REFUSED, Refusal};
use crate::config::ManagerConfig;
use crate::topology::Topology;
use quintet_contract::{Address, Frame, Kind, Outbox, OwnedFrame, Time};
use quintet_wire::{Decode, encode_to_vec};
use std::sync::Arc;

impl TokenManager {
    /// The program of this node begins another view.
    pub(super) fn install(&mut self, now: Time, from: Address, asked: Frame<'_>, out: &mut dyn Outbox) {
        let (kind, body) = match self.read_install(from, asked) {
            Ok(config) => {
                let early = self.begin(config);
                early.into_iter().for_each(|(from, frame)| self.take(now, from, frame.borrow(), out));
                (INSTALLED, Vec::new())
            }
            Err(problem) => (REFUSED, encode_to_vec(&Refusal::Misuse(problem))),
        };
        self.answer(from, asked, kind, body);
    }

    fn answer(&mut self, to: Address, asked: Frame<'_>, kind: Kind, body: Vec<u8>) {
        let answer = OwnedFrame { token: asked.token, ..frame(kind, body) };
        self.answers.push(answer);
        self.asked_by = Some(to);
    }

    fn read_install(&self, from: Address, asked: Frame<'_>) -> Result<ManagerConfig, String> {
        let install = Install::decode_all(asked.body).map_err(|error| error.to_string())?;
        let topology = Topology::parse(install.topology).map_err(|error| error.to_string())?;
        if install.view <= self.fence.view {
            return Err(format!("view {} does not follow view {}", install.view.0, self.fence.view.0));
        }
        let here = topology.switches().iter().position(|switch| switch.manager == from.node);
        let switch =
            here.ok_or_else(|| format!("node {} stands for no switch of the new view", from.node.0))?;
        let isonet = Arc::new(self.config.isonet.among(topology));
        let mut config = self.config.clone();
        (config.isonet, config.switch, config.view) = (isonet, switch, install.view);
        Ok(config)
    }

    fn begin(&mut self, config: ManagerConfig) -> Vec<(Address, OwnedFrame)> {
        let early = self.fence.begin(config.view);
        let fence = core::mem::replace(&mut self.fence, crate::fence::Fence::new(config.view, false));
        let counters = self.counters;
        *self = TokenManager { fence, counters, ..TokenManager::new(config) };
        early
    }
}
