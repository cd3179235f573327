//! What nearly matched, for the error of a request that waited in vain.

use super::Space;
use super::store::Store;
use super::waiter::{Kept, Waiter};
use crate::Field;
use crate::codec::View;
use core::cmp::Reverse;
use quintet_contract::Span;
use std::collections::BTreeMap;

/// Tuples that are compared for one report.
const MAX_COMPARED: usize = 1000;
/// Bytes of a value or template that are shown.
const MAX_SHOWN_BYTES: usize = 200;

/// What the comparison of a template with some tuples found.
#[derive(Default)]
struct Misses {
    /// Tuples compared.
    compared: usize,
    /// Tuples that can be taken and have as many fields.
    same_count: usize,
    /// Those that have the same signature.
    same_signature: usize,
    /// The fields in which at least one of those agrees, one bit each.
    agreeing: u64,
    /// Tuples that match but are hidden.
    hidden: usize,
    /// How many differ in the type of one field only: by the field and the type they have there.
    one_type: BTreeMap<(usize, String), usize>,
}

impl Space {
    /// The text for a request that waited so long. Compares at most [`MAX_COMPARED`] tuples with each of its templates.
    pub(super) fn near_miss(&self, waiter: &Waiter, waited: Span) -> String {
        let missed = waiter.templates().map(|template| self.near_miss_of(template, waited));
        missed.collect::<Vec<_>>().join("; or: ")
    }

    fn near_miss_of(&self, template: &Kept, waited: Span) -> String {
        let (template, bulk) = (template.view(), template.bulk());
        let mut misses = Misses::default();
        for store in self.stores.iter() {
            misses.look_at(&template, store);
        }
        let decoded = template.to_template(bulk);
        let found = misses.describe(&template, decoded.fields());
        format!("nothing matched {} within {waited}: {found}", shorten(&decoded.to_string()))
    }
}

impl Misses {
    fn look_at(&mut self, template: &View<'_>, store: &Store) {
        let has_same_count = store.signature().0[0] == template.signature()[0];
        if !has_same_count {
            return;
        }
        for (entry, state) in store.entries() {
            if self.compared >= MAX_COMPARED {
                return;
            }
            self.compared += 1;
            if state.is_shown() {
                self.compare(template, &store.view(entry));
            } else if store.signature().0[..] == *template.signature() && template.matches(&store.view(entry))
            {
                self.hidden += 1;
            }
        }
    }

    /// Compares with a tuple that has as many fields.
    fn compare(&mut self, template: &View<'_>, tuple: &View<'_>) {
        self.same_count += 1;
        let (mut agreeing, mut of_other_type, mut all_agree_but_one) = (0u64, None, true);
        let missed = template.missed_ranges(tuple);
        for (index, (wanted, field)) in template.fields().zip(tuple.fields()).enumerate() {
            if wanted.has_type_of(&field) && wanted.matches(&field) && missed >> index & 1 == 0 {
                agreeing |= 1 << index;
            } else if of_other_type.is_none() && wanted.field_type() != field.field_type() {
                of_other_type = Some((index, field.field_type().to_string()));
            } else {
                all_agree_but_one = false;
            }
        }
        if template.signature() == tuple.signature() {
            self.same_signature += 1;
            self.agreeing |= agreeing;
        }
        if let Some(miss) = of_other_type.filter(|_| all_agree_but_one) {
            *self.one_type.entry(miss).or_default() += 1;
        }
    }

    fn describe(&self, template: &View<'_>, fields: &[Field]) -> String {
        let mut found = Vec::new();
        if self.hidden > 0 {
            found.push(format!("{} matching, but under a lease or just taken", tuples(self.hidden)));
        }
        let mut by_number: Vec<_> = self.one_type.iter().collect();
        by_number.sort_by_key(|(_, number)| Reverse(**number));
        for ((field, other), number) in by_number.into_iter().take(3) {
            let verb = if *number == 1 { "differs" } else { "differ" };
            let wanted = template.fields().nth(*field).map(|wanted| wanted.field_type().to_string());
            let wanted = wanted.unwrap_or_default();
            found.push(format!("{} {verb} only in field {field}: {other}, wanted {wanted}", tuples(*number)));
        }
        if self.same_signature > 0 {
            found.push(self.describe_values(fields));
        } else if found.is_empty() && self.same_count > 0 {
            found.push(format!("{} with {} fields, of other types", tuples(self.same_count), fields.len()));
        } else if found.is_empty() {
            found.push(format!("no tuple with {} fields", fields.len()));
        }
        if self.compared >= MAX_COMPARED {
            found.push(format!("only {MAX_COMPARED} were compared"));
        }
        found.join("; ")
    }

    /// What the values of the tuples with the same signature lack.
    fn describe_values(&self, fields: &[Field]) -> String {
        let have = if self.same_signature == 1 { "has" } else { "have" };
        let start = format!("{} {have} this signature; none has", tuples(self.same_signature));
        let missing = fields.iter().enumerate().filter(|(index, _)| self.agreeing >> index & 1 == 0);
        let missing: Vec<_> = missing
            .map(|(index, field)| format!("field {index} = {}", shorten(&field.to_string())))
            .collect();
        match missing.as_slice() {
            [] => format!("{start} all the values together"),
            missing => format!("{start} {}", missing.join(", nor ")),
        }
    }
}

fn tuples(number: usize) -> String {
    format!("{number} tuple{}", if number == 1 { "" } else { "s" })
}

fn shorten(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_SHOWN_BYTES);
    if end == text.len() { text.into() } else { format!("{}...", &text[..end]) }
}
