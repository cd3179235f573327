//! The parameters of any device.

use super::{
    Bus, BusParameters, Collision, CollisionParameters, Device, DeviceError, Ethernet, EthernetParameters,
    Network, NetworkParameters, Pool, PoolParameters, Ring, RingParameters, Slotted, SlottedParameters,
    Switch, SwitchParameters,
};

/// The parameters of any device: what a model file describes.
#[derive(Clone, PartialEq, Debug)]
pub enum DeviceModel {
    /// First come, first served.
    Bus(BusParameters),
    /// CSMA/CD without a cable, as in NETWORK II.5.
    Collision(CollisionParameters),
    /// CSMA/CD on a cable.
    Ethernet(EthernetParameters),
    /// CSMA/CD in slots with the optimal policy.
    Slotted(SlottedParameters),
    /// The timed token.
    Ring(RingParameters),
    /// Switched full duplex; a link is a switch of two ports.
    Switch(SwitchParameters),
    /// Switches and links, over several of which a message goes.
    Network(NetworkParameters),
    /// Servers side by side.
    Pool(PoolParameters),
}

impl DeviceModel {
    /// Whether such a device can be.
    ///
    /// # Errors
    ///
    /// Those of the parameters' own `check`.
    pub fn check(&self) -> Result<(), DeviceError> {
        match self {
            DeviceModel::Bus(parameters) => parameters.check(),
            DeviceModel::Collision(parameters) => parameters.check(),
            DeviceModel::Ethernet(parameters) => parameters.check(),
            DeviceModel::Slotted(parameters) => parameters.check(),
            DeviceModel::Ring(parameters) => parameters.check().map(|_| ()),
            DeviceModel::Switch(parameters) => parameters.check().map(|_| ()),
            DeviceModel::Network(parameters) => parameters.check().map(|_| ()),
            DeviceModel::Pool(parameters) => parameters.check(),
        }
    }

    /// A new device, idle at time 0.
    ///
    /// # Errors
    ///
    /// Those of [`check`](DeviceModel::check).
    pub fn build(self) -> Result<Box<dyn Device>, DeviceError> {
        Ok(match self {
            DeviceModel::Bus(parameters) => Box::new(Bus::new(parameters)?),
            DeviceModel::Collision(parameters) => Box::new(Collision::new(parameters)?),
            DeviceModel::Ethernet(parameters) => Box::new(Ethernet::new(parameters)?),
            DeviceModel::Slotted(parameters) => Box::new(Slotted::new(parameters)?),
            DeviceModel::Ring(parameters) => Box::new(Ring::new(parameters)?),
            DeviceModel::Switch(parameters) => Box::new(Switch::new(parameters)?),
            DeviceModel::Network(parameters) => Box::new(Network::new(parameters)?),
            DeviceModel::Pool(parameters) => Box::new(Pool::new(parameters)?),
        })
    }
}
