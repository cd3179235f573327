//! Reading `[network.NAME]`, with its switches and links.

use super::Reader;
use crate::keys;
use crate::network::{Network, NetworkLink, NetworkSwitch};
use std::collections::BTreeMap;
use toml::de::DeTable;

impl Reader {
    pub(super) fn network(&mut self, path: &str, table: &DeTable<'_>) -> Network {
        let attributes = self.attributes(path, table, &keys::NETWORK, &["switch", "link"]);
        let switches = self.parts(path, table, "switch", Reader::network_switch);
        let links = self.parts(path, table, "link", Reader::network_link);
        Network { attributes, switches, links }
    }

    /// The tables of one kind within another.
    fn parts<T: Default>(
        &mut self,
        path: &str,
        table: &DeTable<'_>,
        kind: &str,
        read: fn(&mut Reader, &str, &DeTable<'_>) -> T,
    ) -> BTreeMap<String, T> {
        let path = format!("{path}.{kind}");
        let Some(entry) = table.get(kind) else { return BTreeMap::new() };
        match self.table(&path, entry) {
            Some(inner) => self.each(&path, inner, read),
            None => BTreeMap::new(),
        }
    }

    fn network_switch(&mut self, path: &str, table: &DeTable<'_>) -> NetworkSwitch {
        NetworkSwitch { attributes: self.attributes(path, table, &keys::NETWORK_SWITCH, &[]) }
    }

    fn network_link(&mut self, path: &str, table: &DeTable<'_>) -> NetworkLink {
        let attributes = self.attributes(path, table, &keys::NETWORK_LINK, &["between"]);
        let between = table.get("between").map(|entry| self.names(&format!("{path}.between"), entry));
        NetworkLink { between: between.unwrap_or_default(), attributes }
    }
}
