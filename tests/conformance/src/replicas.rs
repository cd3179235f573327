//! A space that three replicas keep, each a server with a log of its own. They elect who leads, which takes a while: they outlive behaviours, so that each of them leaves its space empty.

use crate::behaviour::{Behaviour, Limits};
use crate::placement::{Begun, LEASE, Placement, emptied, limited, without_machines};
use quintet::{Lab, LinkAddress, Replication, ServeConfig, Server, SpaceAddress, SpaceConfig, SpaceLog};
use quintet_testbed::TempDir;
use std::collections::BTreeMap;

/// The placement: for each limits a space of its own.
pub struct Replicated {
    folder: TempDir,
    spaces: BTreeMap<Limits, Replicas>,
}

/// The servers of a space, which end with it.
struct Replicas {
    _servers: Vec<Server>,
    address: SpaceAddress,
}

impl Replicated {
    /// Without spaces so far.
    ///
    /// # Errors
    /// What the system said.
    pub fn new() -> Result<Replicated, String> {
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        Ok(Replicated { folder, spaces: BTreeMap::new() })
    }

    fn serve(&self, limits: &Limits) -> Result<Replicas, String> {
        let name = |replica: u8| format!("{}-{replica}", self.spaces.len());
        let replicas: Vec<LinkAddress> = (1..=3)
            .map(|replica| LinkAddress::Unix(self.folder.join(format!("at-{}", name(replica)))))
            .collect();
        let serve = |replica: u8| {
            let config = ServeConfig {
                space: limited(SpaceConfig::default(), limits),
                log: Some(SpaceLog::new(self.folder.join(name(replica)))),
                replication: Some(Replication {
                    replica,
                    replicas: replicas.clone(),
                    identities: Vec::new(),
                    told: None,
                }),
                ..ServeConfig::default()
            };
            Server::start(&replicas[usize::from(replica) - 1], &config).map_err(|error| error.to_string())
        };
        let servers = (1..=3).map(serve).collect::<Result<_, _>>()?;
        Ok(Replicas { _servers: servers, address: SpaceAddress::Replicas(replicas) })
    }
}

impl Placement for Replicated {
    fn name(&self) -> &str {
        "replicated"
    }

    fn cannot(&self, behaviour: &Behaviour) -> Option<String> {
        without_machines(behaviour).or_else(|| {
            behaviour.kills().then(|| {
                "a killed client may come back to any replica: it is noticed after the resume window"
                    .to_owned()
            })
        })
    }

    fn begin(&mut self, limits: &Limits) -> Result<Begun, String> {
        if !self.spaces.contains_key(limits) {
            let replicas = self.serve(limits)?;
            self.spaces.insert(*limits, replicas);
        }
        let address = &self.spaces[limits].address;
        let observer = Lab::connect(address, 0, LEASE).map_err(|error| error.to_string())?;
        Begun::at(vec![address.to_string()], observer)
    }

    fn end(&mut self, begun: Begun) -> Result<(), String> {
        emptied(begun)
    }
}
