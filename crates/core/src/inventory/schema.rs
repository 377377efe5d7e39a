//! The schema that drives aggregation (LA Grid, Listing 1).

use super::{Form, names};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How an inventory is aggregated. What it does not name is left out of
/// aggregated forms; the flat form has everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    types: Vec<TypeRule>,
    relations: Vec<RelationRule>,
}

/// How resources of one type are aggregated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeRule {
    /// The type.
    pub name: Arc<str>,
    /// Resources that agree in all of these come together; with none, all of
    /// the type do.
    pub aggregate_on: Vec<Arc<str>>,
    /// What else is kept of them.
    pub keep: Vec<AttributeRule>,
}

/// An attribute that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeRule {
    /// Its name.
    pub name: Arc<str>,
    /// How different values are told.
    pub shape: Shape,
    /// What is told of them besides their number.
    pub statistics: BTreeSet<Statistic>,
}

/// How different values are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Shape {
    /// Numbers as least and greatest, texts as a list.
    #[default]
    Range,
    /// Every value that occurs.
    List,
}

impl Shape {
    /// The name used in schema documents.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What can be told of the numbers of an attribute. Their least, greatest and
/// how many there are is always told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Statistic {
    /// Their sum.
    Total,
    /// Their mean.
    Mean,
    /// Their median.
    Median,
}

impl Statistic {
    /// All of them.
    pub const ALL: [Statistic; 3] = [Statistic::Total, Statistic::Mean, Statistic::Median];

    /// The name used in documents.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A relation that is kept, and how closely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationRule {
    /// Its name, such as [`names::CONTAINS`].
    pub name: Arc<str>,
    /// Type of the parent.
    pub from: Arc<str>,
    /// Type of the child.
    pub to: Arc<str>,
    /// Any form but the flat one.
    pub model: Form,
}

/// Why rules make no schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// A type has two rules.
    #[error("type {0:?}: expected one rule for it")]
    SameType(Arc<str>),
    /// An attribute is named twice for one type.
    #[error("type {0:?}: attribute {1:?}: expected it to be named once")]
    SameAttribute(Arc<str>, Arc<str>),
    /// The same relation has two rules.
    #[error("relation {0:?}: expected one rule for it between two types")]
    SameRelation(Arc<str>),
    /// A relation begins or ends at a type that has no rule.
    #[error("relation {0:?}: type {1:?}: expected a type of this schema")]
    UnknownType(Arc<str>, Arc<str>),
    /// The flat form keeps every relation; it aggregates nothing.
    #[error("relation {0:?}: model = \"flat\": expected unique, one-to-n or n-to-n")]
    FlatRelation(Arc<str>),
    /// A type is related to itself, directly or by way of others.
    #[error("type {0:?}: expected relations without a cycle")]
    Circle(Arc<str>),
}

impl Schema {
    /// A schema of these rules.
    ///
    /// # Errors
    /// [`SchemaError`] when they contradict each other.
    pub fn new(types: Vec<TypeRule>, relations: Vec<RelationRule>) -> Result<Self, SchemaError> {
        let mut seen = BTreeSet::new();
        for rule in &types {
            if !seen.insert(&rule.name) {
                return Err(SchemaError::SameType(Arc::clone(&rule.name)));
            }
            let mut attributes = BTreeSet::new();
            let kept = rule.keep.iter().map(|attribute| &attribute.name);
            for name in rule.aggregate_on.iter().chain(kept) {
                if !attributes.insert(name) {
                    let (of, name) = (Arc::clone(&rule.name), Arc::clone(name));
                    return Err(SchemaError::SameAttribute(of, name));
                }
            }
        }
        let mut pairs = BTreeSet::new();
        for rule in &relations {
            let name = || Arc::clone(&rule.name);
            if rule.model == Form::Flat {
                return Err(SchemaError::FlatRelation(name()));
            }
            for kind in [&rule.from, &rule.to] {
                if !seen.contains(kind) {
                    return Err(SchemaError::UnknownType(name(), Arc::clone(kind)));
                }
            }
            if !pairs.insert((&rule.name, &rule.from, &rule.to)) {
                return Err(SchemaError::SameRelation(name()));
            }
        }
        let schema = Schema { types, relations };
        match schema.parents_first() {
            Ok(_) => Ok(schema),
            Err(name) => Err(SchemaError::Circle(name)),
        }
    }

    /// The schema of LA Grid's example (Listing 1) with what gridrig's own
    /// clusters have besides: computer systems by processor type, operating
    /// systems and file systems by theirs, clusters all together.
    ///
    /// # Panics
    /// Never: its rules agree with each other.
    pub fn la_grid() -> Self {
        let rule = |name: &str, aggregate_on: &[&str], keep: &[&str]| TypeRule {
            name: Arc::from(name),
            aggregate_on: aggregate_on.iter().map(|name| Arc::from(*name)).collect(),
            keep: keep.iter().map(|name| AttributeRule::whole(name)).collect(),
        };
        let load = [
            names::PROC_NUM,
            names::PROC_BUSY,
            names::PROC_FREE,
            names::PROC_QUEUED,
            names::JOBS_QUEUED,
            names::FREE_MEM,
            names::FREE_MB,
        ];
        let processors = [names::PROC_NUM, names::PROC_SPEED, names::CPU_UTIL];
        let memory = [names::TOTAL_MEM, names::FREE_MEM, names::FREE_VIR_MEM];
        let disk = [names::SIZE_MB, names::FREE_MB];
        let types = vec![
            rule(names::CLUSTER, &[], &load),
            rule(names::COMPUTER_SYSTEM, &[names::PROC_TYPE], &processors),
            rule(names::OPERATING_SYSTEM, &[names::OS_TYPE], &memory),
            rule(names::FILE_SYSTEM, &[names::FS_TYPE], &disk),
        ];
        let relation = |name: &str, from: &str, to: &str| RelationRule {
            name: Arc::from(name),
            from: Arc::from(from),
            to: Arc::from(to),
            model: Form::Unique,
        };
        let (system, contains) = (names::COMPUTER_SYSTEM, names::CONTAINS);
        let relations = vec![
            relation(contains, names::CLUSTER, system),
            relation(contains, system, names::OPERATING_SYSTEM),
            relation(names::USES, system, names::FILE_SYSTEM),
        ];
        Schema::new(types, relations).expect("the rules agree with each other")
    }

    /// The same rules with every relation kept like this; as they are for the
    /// flat form, which no rule makes.
    pub fn keeping(&self, form: Form) -> Self {
        let mut schema = self.clone();
        if form != Form::Flat {
            for rule in &mut schema.relations {
                rule.model = form;
            }
        }
        schema
    }

    /// The rules for types.
    pub fn types(&self) -> &[TypeRule] {
        &self.types
    }

    /// The rules for relations.
    pub fn relations(&self) -> &[RelationRule] {
        &self.relations
    }

    /// The form of what it aggregates: the loosest of its relations' models.
    pub fn form(&self) -> Form {
        let models = self.relations.iter().map(|rule| rule.model);
        models.max().unwrap_or(Form::NToN)
    }

    /// The types so that parents come before their children; the name of a
    /// type on a circle if there is one.
    pub(super) fn parents_first(&self) -> Result<Vec<&TypeRule>, Arc<str>> {
        let mut left: Vec<&TypeRule> = self.types.iter().collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            let has_parent = |rule: &&TypeRule| {
                let mut above = self.relations.iter();
                above.any(|one| one.to == rule.name && left.iter().any(|p| p.name == one.from))
            };
            let Some(next) = left.iter().position(|rule| !has_parent(rule)) else {
                return Err(Arc::clone(&left[0].name));
            };
            order.push(left.remove(next));
        }
        Ok(order)
    }
}

impl AttributeRule {
    /// An attribute that is kept as a range with all statistics.
    pub fn whole(name: &str) -> Self {
        AttributeRule {
            name: Arc::from(name),
            shape: Shape::Range,
            statistics: Statistic::ALL.into(),
        }
    }
}
