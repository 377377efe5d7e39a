//! From the flat form to the others.
//!
//! Resources of one type are told apart by what they agree on (the schema's
//! `aggregate_on`) and, where a relation is kept more closely than n-to-n, by
//! what they are related to. Two walks over the types find that out:
//!
//! 1. children first, each resource gets its *likeness*: its own values and,
//!    over relations kept as `unique`, the likenesses of its children;
//! 2. parents first, resources of one likeness fall into *groups* by the
//!    groups of their parents over relations kept as `unique` or `one-to-n`.
//!    Over `n-to-n` it matters only whether there is a parent at all: a
//!    computer system of no cluster is a place by itself.
//!
//! So every group of `unique` lies within one of `one-to-n`, and that within
//! one of `n-to-n`: what matches a form matches every looser one.

use super::schema::{AttributeRule, RelationRule, Shape, Statistic, TypeRule};
use super::{Attribute, Form, Inventory, InventoryError, Record, Relation, Schema};
use super::{Value, Values, names};
use crate::time::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Inventory {
    /// This flat inventory in another form: as it is for the flat one, else
    /// aggregated by the schema with every relation kept like that.
    ///
    /// # Errors
    /// [`InventoryError::Aggregated`] if it is not flat itself.
    pub fn in_form(&self, form: Form, schema: &Schema) -> Result<Inventory, InventoryError> {
        match form {
            Form::Flat if self.form() == Form::Flat => Ok(self.clone()),
            Form::Flat => Err(InventoryError::Aggregated(self.form())),
            _ => self.aggregate(&schema.keeping(form)),
        }
    }

    /// This flat inventory, aggregated as the schema says.
    ///
    /// # Errors
    /// [`InventoryError::Aggregated`] if it is not flat.
    pub fn aggregate(&self, schema: &Schema) -> Result<Inventory, InventoryError> {
        if self.form() != Form::Flat {
            return Err(InventoryError::Aggregated(self.form()));
        }
        let plan = Plan::of(self, schema);
        let mut records = Vec::new();
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        for group in &plan.groups {
            let rule = group.rule;
            let number = numbers.entry(&rule.name).or_default();
            *number += 1;
            let id = format!("{}{number}", rule.name);
            records.push(self.summed_up(&id, rule, &group.members));
        }
        let mut relations = BTreeSet::new();
        for relation in self.relations() {
            let ends = (plan.group_of[relation.from], plan.group_of[relation.to]);
            if let (Some(from), Some(to), true) = (ends.0, ends.1, plan.keeps(self, relation)) {
                let name = Arc::clone(&relation.name);
                relations.insert(Relation { from, name, to });
            }
        }
        Inventory::new(schema.form(), records, relations.into_iter().collect())
    }

    fn summed_up(&self, id: &str, rule: &TypeRule, members: &[usize]) -> Record {
        let count = members.iter().map(|one| self.records()[*one].count).sum();
        let mut record = Record::new(id, &rule.name).times(count);
        let key = rule.aggregate_on.iter().map(|name| AttributeRule {
            name: Arc::clone(name),
            shape: Shape::List,
            statistics: BTreeSet::new(),
        });
        let told = members.iter().map(|one| &self.records()[*one].attributes);
        let is_generic = |name: &&Arc<str>| {
            name.starts_with(names::GENERIC) || name.starts_with(names::FREE_GENERIC)
        };
        let generic: BTreeSet<&Arc<str>> =
            told.flat_map(|all| all.keys()).filter(is_generic).collect();
        let generic = generic.into_iter().map(|name| AttributeRule::whole(name));
        for attribute in generic.chain(key).chain(rule.keep.iter().cloned()) {
            let values = members.iter().filter_map(|member| {
                let record = &self.records()[*member];
                match &record.attribute(&attribute.name)?.values {
                    Values::Single(value) => Some((value, record.count)),
                    // The flat form has single values only.
                    Values::Range(..) | Values::List(_) => None,
                }
            });
            if let Some(found) = summary(&attribute, &values.collect::<Vec<_>>()) {
                record.attributes.insert(attribute.name, found);
            }
        }
        record
    }
}

/// What is told of these values, each of so many resources.
fn summary(rule: &AttributeRule, values: &[(&Value, u64)]) -> Option<Attribute> {
    let distinct: BTreeSet<Value> = values.iter().map(|(value, _)| (*value).clone()).collect();
    let count = values.iter().map(|(_, count)| count).sum();
    let numbers = values.iter();
    let numbers = numbers.map(|(value, count)| Some((value.as_number()?, *count)));
    let mut attribute = Attribute {
        values: Values::of(distinct, rule.shape == Shape::Range)?,
        count,
        told_total: None,
        told_mean: None,
        told_median: None,
    };
    if matches!(attribute.values, Values::Single(_)) {
        return Some(attribute);
    }
    if let Some(mut numbers) = numbers.collect::<Option<Vec<(Decimal, u64)>>>() {
        numbers.sort_unstable();
        let keeps = |statistic| rule.statistics.contains(&statistic);
        let parts = numbers.iter().map(|(number, count)| number.times(*count));
        let total = parts.fold(Decimal::ZERO, Decimal::plus);
        attribute.told_total = keeps(Statistic::Total).then_some(total);
        attribute.told_mean = total.over(count).filter(|_| keeps(Statistic::Mean));
        attribute.told_median = median(&numbers, count).filter(|_| keeps(Statistic::Median));
    }
    Some(attribute)
}

/// The median of sorted numbers, each occurring so often, `count` together.
fn median(numbers: &[(Decimal, u64)], count: u64) -> Option<Decimal> {
    let at = |position: u64| {
        let mut passed = 0;
        let mut numbers = numbers.iter();
        let found = numbers.find(|(_, count)| {
            passed += count;
            passed > position
        });
        found.map(|(number, _)| *number)
    };
    let (low, high) = (at(count.checked_sub(1)? / 2)?, at(count / 2)?);
    low.plus(high).over(2)
}

/// Which records come together.
struct Plan<'a> {
    groups: Vec<Group<'a>>,
    /// By record; `None` for a type that the schema does not name.
    group_of: Vec<Option<usize>>,
    relations: &'a [RelationRule],
}

struct Group<'a> {
    rule: &'a TypeRule,
    members: Vec<usize>,
}

/// What makes resources alike: the values they agree on, and the likenesses of
/// their children by the rule of the relation.
type Likeness = (Vec<Option<Value>>, BTreeSet<(usize, usize)>);

/// What puts resources of one type into one group: their likeness and the
/// groups of their parents by the rule of the relation.
type Togetherness = (usize, BTreeSet<(usize, Option<usize>)>);

impl<'a> Plan<'a> {
    fn of(inventory: &Inventory, schema: &'a Schema) -> Self {
        let mut plan = Plan {
            groups: Vec::new(),
            group_of: vec![None; inventory.records().len()],
            relations: schema.relations(),
        };
        // A schema has no circles.
        let order = schema.parents_first().unwrap_or_default();
        let likeness = plan.likenesses(inventory, &order);
        let parents = plan.parents(inventory);
        for rule in order {
            let mut groups: BTreeMap<Togetherness, usize> = BTreeMap::new();
            for (index, _) in inventory.of_kind(&rule.name) {
                let above = parents[index].iter();
                let above = above.map(|(by, from)| {
                    let close = plan.relations[*by].model != Form::NToN;
                    (*by, plan.group_of[*from].filter(|_| close))
                });
                let key = (likeness[index], above.collect());
                let next = plan.groups.len();
                let group = *groups.entry(key).or_insert(next);
                if group == next {
                    let members = Vec::new();
                    plan.groups.push(Group { rule, members });
                }
                plan.groups[group].members.push(index);
                plan.group_of[index] = Some(group);
            }
        }
        plan
    }

    /// The likeness of every record, as a number among those of its type.
    fn likenesses(&self, inventory: &Inventory, parents_first: &[&TypeRule]) -> Vec<usize> {
        let mut likeness = vec![0; inventory.records().len()];
        for rule in parents_first.iter().rev() {
            let mut known: BTreeMap<Likeness, usize> = BTreeMap::new();
            for (index, record) in inventory.of_kind(&rule.name) {
                let value = |name: &Arc<str>| match &record.attribute(name)?.values {
                    Values::Single(value) => Some(value.clone()),
                    Values::Range(..) | Values::List(_) => None,
                };
                let children = inventory.relations_of(index).iter();
                let children = children.filter_map(|relation| {
                    let by = self.rule_of(inventory, relation)?;
                    let close = self.relations[by].model == Form::Unique;
                    close.then_some((by, likeness[relation.to]))
                });
                let own = rule.aggregate_on.iter().map(value);
                let key = (own.collect(), children.collect());
                let next = known.len();
                likeness[index] = *known.entry(key).or_insert(next);
            }
        }
        likeness
    }

    /// The parents of every record over relations that are kept, with the rule
    /// of the relation.
    fn parents(&self, inventory: &Inventory) -> Vec<Vec<(usize, usize)>> {
        let mut parents = vec![Vec::new(); inventory.records().len()];
        for relation in inventory.relations() {
            if let Some(by) = self.rule_of(inventory, relation) {
                parents[relation.to].push((by, relation.from));
            }
        }
        parents
    }

    fn rule_of(&self, inventory: &Inventory, relation: &Relation) -> Option<usize> {
        let kind = |index: usize| &inventory.records()[index].kind;
        self.relations.iter().position(|rule| {
            rule.name == relation.name
                && rule.from == *kind(relation.from)
                && rule.to == *kind(relation.to)
        })
    }

    fn keeps(&self, inventory: &Inventory, relation: &Relation) -> bool {
        self.rule_of(inventory, relation).is_some()
    }
}
