//! The named spaces of a server.

use super::SpacesConfig;
use crate::codec::{Policy, SpaceInfo, SpaceName, SpaceNumber, SpaceSettings};
use crate::{Refusal, Space, SpaceConfig};
use quintet_contract::{Address, Identity, Input, LinkInfo, Meter, Metric, Outbox, Protocol, Time, tell_all};
use quintet_errors::Code;
use std::collections::{BTreeMap, BTreeSet};

/// Names that a refusal lists.
const MAX_NAMES_LISTED: usize = 12;
/// Requests of so many bytes may wait in the smallest space.
const LEAST_WAITING_BYTES: u64 = 1 << 20;

/// A named space.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: SpaceName,
    /// With the server's defaults filled in.
    pub(super) settings: SpaceSettings,
    space: Space,
    /// When it wants to be woken, as the table has it.
    due: Option<Time>,
}

impl Named {
    /// Whether who is at the other end of this link may use it.
    pub(super) fn admits(&self, link: &LinkInfo) -> bool {
        self.settings.allow.as_ref().is_none_or(|rights| rights.admit(link))
    }

    /// Why somebody may not.
    pub(super) fn not_admitted(&self, identity: Option<Identity>) -> String {
        let who = match identity {
            Some(Identity([a, b, c, d, ..])) => format!("the identity {a:02x}{b:02x}{c:02x}{d:02x}..."),
            None => "this machine".to_owned(),
        };
        let name = &self.name;
        format!(
            "{who} may not use the space {name}: whoever created it named others (quintet space show {name} tells whom)"
        )
    }

    /// It as a listing shows it.
    pub(super) fn info(&self, number: SpaceNumber) -> SpaceInfo {
        let state = self.space.counts();
        SpaceInfo {
            number,
            name: self.name.clone(),
            settings: self.settings.clone(),
            tuples: state.tuples,
            bytes: state.bytes + state.index_bytes,
            hidden: state.hidden,
            waiters: state.waiters,
            leases: state.leases,
            parked: state.parked,
        }
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Table {
    /// What the unnamed space has, of which they take what their settings do not say.
    pub(super) space: SpaceConfig,
    config: SpacesConfig,
    /// What keeps them all.
    policy: Policy,
    spaces: BTreeMap<SpaceNumber, Named>,
    by_name: BTreeMap<SpaceName, SpaceNumber>,
    /// When those that want to be woken do.
    due: BTreeSet<(Time, SpaceNumber)>,
    /// The number that was given last.
    last: u32,
    /// Their quotas together.
    promised: u64,
}

static METRICS: [Metric; 6] = [
    Metric::gauge("quintet_spaces_named", "Named spaces"),
    Metric::gauge("quintet_spaces_named_quota_bytes", "Quotas of all named spaces together, bytes"),
    Metric::gauge("quintet_spaces_named_bytes", "Bytes of tuples in all named spaces together"),
    Metric::gauge("quintet_spaces_named_tuples", "Tuples that can be taken in all named spaces together"),
    Metric::gauge("quintet_spaces_named_waiters", "Takes and reads that wait in all named spaces together"),
    Metric::gauge("quintet_spaces_named_parked", "Puts that wait for room in all named spaces together"),
];

impl Table {
    pub(super) fn new(space: SpaceConfig, config: SpacesConfig, policy: Policy) -> Table {
        let (spaces, by_name, due) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Table { space, config, policy, spaces, by_name, due, last: 0, promised: 0 }
    }

    /// The number that was given last.
    pub(super) fn last(&self) -> u32 {
        self.last
    }

    /// All of them, by number.
    pub(super) fn named(
        &self,
    ) -> impl ExactSizeIterator<Item = (SpaceNumber, &SpaceName, &SpaceSettings, &Space)> {
        self.spaces.iter().map(|(number, named)| (*number, &named.name, &named.settings, &named.space))
    }

    /// Numbers go on behind this one.
    pub(super) fn give_again(&mut self, last: u32) {
        self.last = last;
    }

    /// Puts a space back that was saved. False if its number was not given, or it or the name is there.
    pub(super) fn put_back(
        &mut self,
        number: SpaceNumber,
        name: SpaceName,
        settings: SpaceSettings,
        space: Space,
    ) -> bool {
        let is_given = (1..=self.last).contains(&number.0);
        if !is_given || self.by_name.contains_key(&name) || self.spaces.contains_key(&number) {
            return false;
        }
        let Some(promised) = self.promised.checked_add(settings.max_bytes) else { return false };
        let due = space.deadline();
        self.promised = promised;
        self.due.extend(due.map(|due| (due, number)));
        self.by_name.insert(name.clone(), number);
        self.spaces.insert(number, Named { name, settings, space, due });
        true
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.spaces.is_empty()
    }

    #[inline]
    pub(super) fn deadline(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }

    pub(super) fn spaces(&self) -> impl Iterator<Item = &Space> {
        self.spaces.values().map(|named| &named.space)
    }

    /// By name, those behind this one; from the beginning without it.
    pub(super) fn after(&self, name: Option<&SpaceName>) -> impl Iterator<Item = (SpaceNumber, &Named)> {
        use core::ops::Bound;
        let from = name.map_or(Bound::Unbounded, Bound::Excluded);
        let range = self.by_name.range::<SpaceName, _>((from, Bound::Unbounded));
        range.map(|(_, number)| (*number, &self.spaces[number]))
    }

    pub(super) fn find(&self, number: SpaceNumber) -> Result<&Named, (Code, String)> {
        self.spaces.get(&number).ok_or_else(|| {
            let gone =
                if number.0 <= self.last { "this space was removed" } else { "no space has this number" };
            (Code::NoSuchSpace, format!("{gone}; {}", self.names()))
        })
    }

    pub(super) fn find_named(&self, name: &SpaceName) -> Result<(SpaceNumber, &Named), (Code, String)> {
        let number = self.by_name.get(name);
        let number = number.ok_or_else(|| (Code::NoSuchSpace, format!("{name}; {}", self.names())))?;
        Ok((*number, &self.spaces[number]))
    }

    /// In words, which there are.
    fn names(&self) -> String {
        let names: Vec<&str> = self.by_name.keys().take(MAX_NAMES_LISTED).map(SpaceName::as_str).collect();
        match (names.len(), self.by_name.len() - names.len()) {
            (0, _) => "there are no named spaces: quintet space create NAME makes one".to_owned(),
            (_, 0) => format!("there are: {}", names.join(", ")),
            (_, more) => format!("there are: {} and {more} more (quintet space list)", names.join(", ")),
        }
    }

    /// Gives one space an input.
    pub(super) fn handle(&mut self, now: Time, number: SpaceNumber, input: Input<'_>, out: &mut dyn Outbox) {
        let Some(named) = self.spaces.get_mut(&number) else { return };
        named.space.handle(now, input, out);
        self.note_due(number);
    }

    /// One of them, to be changed; then [`note_due`](Table::note_due) is told.
    pub(super) fn space_mut(&mut self, number: SpaceNumber) -> Option<&mut Space> {
        self.spaces.get_mut(&number).map(|named| &mut named.space)
    }

    /// A space may want to be woken at another time than before.
    pub(super) fn note_due(&mut self, number: SpaceNumber) {
        let Some(named) = self.spaces.get_mut(&number) else { return };
        let due = named.space.deadline();
        if due != named.due {
            named.due.map(|before| self.due.remove(&(before, number)));
            due.map(|due| self.due.insert((due, number)));
            named.due = due;
        }
    }

    pub(super) fn handle_all(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if self.is_empty() {
            return;
        }
        let numbers: Vec<SpaceNumber> = self.spaces.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.handle(now, number, input, out));
    }

    /// Wakes those that are due.
    pub(super) fn wake(&mut self, now: Time, out: &mut dyn Outbox) {
        let due: Vec<SpaceNumber> =
            self.due.iter().take_while(|(due, _)| *due <= now).map(|(_, number)| *number).collect();
        due.into_iter().for_each(|number| self.handle(now, number, Input::Wake, out));
    }

    pub(super) fn refuse_unanswered(&mut self, now: Time, refusal: &Refusal, out: &mut dyn Outbox) {
        let numbers: Vec<SpaceNumber> = self.spaces.keys().copied().collect();
        for number in numbers {
            self.space_mut(number).into_iter().for_each(|space| space.refuse_unanswered(now, refusal, out));
            self.note_due(number);
        }
    }

    /// The same of those that one address has asked.
    pub(super) fn refuse_unanswered_of(
        &mut self,
        now: Time,
        address: Address,
        refusal: &Refusal,
        out: &mut dyn Outbox,
    ) {
        let numbers: Vec<SpaceNumber> = self.spaces.keys().copied().collect();
        for number in numbers {
            let space = self.space_mut(number);
            space.into_iter().for_each(|space| space.refuse_unanswered_of(now, address, refusal, out));
            self.note_due(number);
        }
    }

    /// Changes each space in a way that changes no deadline but by the next input.
    pub(super) fn each(&mut self, change: impl FnMut(&mut Space)) {
        self.spaces.values_mut().map(|named| &mut named.space).for_each(change);
    }

    /// Makes a space of that name, which no other has.
    ///
    /// # Errors
    /// Its policy cannot be met, or there is no room for it.
    pub(super) fn add(
        &mut self,
        name: SpaceName,
        settings: SpaceSettings,
    ) -> Result<(SpaceNumber, &mut Space), (Code, String)> {
        self.check_policy(&name, settings.policy)?;
        self.check_room(&name, &settings)?;
        self.last += 1;
        let number = SpaceNumber(self.last);
        let config = self.config_of(number, &settings);
        self.promised += settings.max_bytes;
        self.by_name.insert(name.clone(), number);
        let named = Named { name, settings, space: Space::new(config), due: None };
        let named = self.spaces.entry(number).insert_entry(named).into_mut();
        Ok((number, &mut named.space))
    }

    /// What it gets: what the settings say, and what of the unnamed space they do not.
    pub(super) fn config_of(&self, number: SpaceNumber, settings: &SpaceSettings) -> SpaceConfig {
        let SpaceSettings { max_bytes, max_tuples, .. } = *settings;
        // Of what waits it keeps as much as of tuples, but some requests may always wait.
        let max_waiting_bytes = self.space.max_waiting_bytes.min(max_bytes.max(LEAST_WAITING_BYTES));
        // What collides in one space need not in another.
        let seed = self.space.seed ^ u64::from(number.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        SpaceConfig { max_bytes, max_tuples, max_waiting_bytes, seed, ..self.space }
    }

    /// The settings with the server's defaults filled in. It keeps more than it was asked to, where it keeps all so.
    pub(super) fn filled(&self, settings: SpaceSettings) -> SpaceSettings {
        let or = |given: u64, default: u64| if given == 0 { default } else { given };
        let most = self.config.max_bytes;
        let policy = if settings.policy == Policy::Volatile { self.policy } else { settings.policy };
        SpaceSettings {
            policy,
            max_bytes: or(settings.max_bytes, SpacesConfig::DEFAULT_BYTES.min(most)),
            max_tuples: or(settings.max_tuples, SpacesConfig::DEFAULT_TUPLES),
            ..settings
        }
    }

    /// The one place that knows which policies can be met: a server keeps all its spaces in one way.
    fn check_policy(&self, name: &SpaceName, asked: Policy) -> Result<(), (Code, String)> {
        if asked == self.policy {
            return Ok(());
        }
        let what_to_do = match asked {
            Policy::Logged => {
                "start one that does, with quintet serve --policy logged --log-dir DIR; the machines of a cluster keep one themselves: quintet space create NAME --policy logged --space quintet://CLUSTER"
            }
            Policy::Replicated(_) => {
                "start three that do, with quintet serve --policy replicated --replica N --replicas LIST --log-dir DIR; the machines of a cluster keep one themselves: quintet space create NAME --policy replicated=3 --space quintet://CLUSTER"
            }
            Policy::Volatile => "ask another server",
        };
        let text = format!(
            "this server cannot keep a space with the policy {asked}, as {name} is to be: it keeps all its spaces {}; {what_to_do}",
            self.policy
        );
        Err((Code::BadValue, text))
    }

    fn check_room(&self, name: &SpaceName, settings: &SpaceSettings) -> Result<(), (Code, String)> {
        let SpacesConfig { max_spaces, max_bytes } = self.config;
        let full = |text: String| Err((Code::SpaceFull, text));
        if self.spaces.len() as u64 >= u64::from(max_spaces) || self.last == u32::MAX {
            return full(format!(
                "no room for the space {name}: this server keeps {max_spaces} named spaces at most (spaces.max_count); remove one"
            ));
        }
        // More is promised than there is, where it was promised under other limits.
        let left = max_bytes.saturating_sub(self.promised);
        if settings.max_bytes > left {
            let wanted = settings.max_bytes;
            return full(format!(
                "no room for {wanted} bytes of the space {name}: of {max_bytes} (spaces.max_bytes) {left} are promised to no other space; \
                 ask for fewer (--max-bytes), or remove a space"
            ));
        }
        Ok(())
    }

    /// Takes a space away.
    pub(super) fn remove(&mut self, name: &SpaceName) -> Option<(SpaceNumber, Space)> {
        let number = self.by_name.remove(name)?;
        let named = self.spaces.remove(&number)?;
        named.due.map(|due| self.due.remove(&(due, number)));
        self.promised -= named.settings.max_bytes;
        Some((number, named.space))
    }

    pub(super) fn tell_metrics(&self, meter: &mut Meter<'_>) {
        let mut values = [self.spaces.len() as u64, self.promised, 0, 0, 0, 0];
        for state in self.spaces().map(Space::counts) {
            let counts = [state.bytes + state.index_bytes, state.tuples, state.waiters, state.parked];
            values[2..].iter_mut().zip(counts).for_each(|(value, count)| *value += count);
        }
        tell_all(&METRICS, values, meter);
    }

    pub(super) fn verify(&self) {
        self.spaces().for_each(Space::verify);
        let promised: u64 = self.spaces.values().map(|named| named.settings.max_bytes).sum();
        assert_eq!(self.promised, promised, "quotas are counted");
        // What is kept was perhaps made under other limits, or by bytes that nobody made.
        if self.policy == Policy::Volatile {
            assert!(promised <= self.config.max_bytes, "more is promised than there is");
            assert!(
                self.spaces.len() as u64 <= u64::from(self.config.max_spaces),
                "there are too many spaces"
            );
        }
        assert_eq!(self.by_name.len(), self.spaces.len());
        for (number, named) in &self.spaces {
            assert_eq!(self.by_name.get(&named.name), Some(number), "a space is found by its name");
            let is_due = named.due.is_some_and(|due| self.due.contains(&(due, *number)));
            assert_eq!(named.due.is_some(), is_due, "a space is woken when it wants to be");
        }
    }
}
