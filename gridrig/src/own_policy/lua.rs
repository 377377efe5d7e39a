//! A program in Lua: without files, processes or network, and bounded.

use super::wire::{self, HelloAnswer, PassAnswer};
use gridrig_core::discipline::Outlook;
use gridrig_core::ids::JobId;
use gridrig_core::plan::Waiting;
use gridrig_core::time::{SimDuration, SimTime};
use mlua::{Function, HookTriggers, IntoLua as _, Lua, LuaOptions, StdLib, Table, VmState};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The memory of one program.
const MOST_BYTES: usize = 256 << 20;
/// How often instructions are counted.
const COUNTED: u32 = 1_000_000;
/// How many may be needed for an answer, in units of that: some seconds.
const MOST: u32 = 500;

/// What is taken away and put in its place: nothing leads out of the program, and the
/// order of a table's keys is the same in every process.
const PRELUDE: &str = r#"
local next, type, sort = next, type, table.sort
local function before(a, b)
    local x, y = type(a), type(b)
    if x ~= y then return x < y end
    return a < b
end
function pairs(t)
    local keys, at = {}, 0
    for key in next, t do keys[#keys + 1] = key end
    sort(keys, before)
    return function()
        at = at + 1
        if keys[at] ~= nil then return keys[at], t[keys[at]] end
    end
end
for _, name in ipairs({ "next", "load", "loadfile", "dofile", "require", "collectgarbage" }) do
    _G[name] = nil
end
string.dump = nil
"#;

/// What a discipline is told in a pass.
pub(super) struct Told<'a, 'o> {
    pub number: u64,
    pub outlook: &'a Outlook<'o>,
    /// Whether it wants to know who runs.
    pub running: bool,
}

/// A program in Lua.
pub struct Script {
    lua: Lua,
    name: String,
    text: String,
    /// What is asked each time: `choose` or `schedule`, once it has been greeted.
    answer: Option<Function>,
    counted: Arc<AtomicU32>,
    copy: Function,
    waiting: Mirror<(u64, SimDuration)>,
    running: Mirror<(SimTime, JobId)>,
}

/// A list of jobs as Lua has it, kept from pass to pass.
struct Mirror<K> {
    keys: Vec<K>,
    rows: Table,
}

impl<K: Copy + Ord> Mirror<K> {
    /// The rows of now, sorted by their keys, of which those that are new are made.
    fn update<T>(
        &mut self,
        now: impl Iterator<Item = (K, T)>,
        row: impl Fn(T) -> mlua::Result<Table>,
    ) -> mlua::Result<()> {
        let mut at = 0;
        for (key, new) in now {
            while self.keys.get(at).is_some_and(|known| *known < key) {
                self.remove(at)?;
            }
            if self.keys.get(at) != Some(&key) {
                self.keys.insert(at, key);
                self.rows.raw_insert(at as i64 + 1, row(new)?)?;
            }
            at += 1;
        }
        while at < self.keys.len() {
            self.remove(self.keys.len() - 1)?;
        }
        Ok(())
    }

    fn remove(&mut self, at: usize) -> mlua::Result<()> {
        self.keys.remove(at);
        self.rows.raw_remove(at as i64 + 1)
    }
}

impl Script {
    /// Reads a program; its random numbers are those of the seed and of who asks.
    ///
    /// # Errors
    /// Why it is none.
    pub fn new(name: &str, text: String, (seed, who): (u64, &str)) -> Result<Self, String> {
        let made = || -> mlua::Result<Self> {
            let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
            let lua = Lua::new_with(libraries, LuaOptions::default())?;
            lua.set_memory_limit(MOST_BYTES)?;
            let counted = Arc::new(AtomicU32::new(0));
            let counter = Arc::clone(&counted);
            let triggers = HookTriggers::new().every_nth_instruction(COUNTED);
            lua.set_hook(triggers, move |_, _| {
                match counter.fetch_add(1, Ordering::Relaxed) < MOST {
                    true => Ok(VmState::Continue),
                    false => Err(mlua::Error::runtime(format!(
                        "it needs more than {MOST} million instructions for an answer"
                    ))),
                }
            })?;
            lua.load(PRELUDE).exec()?;
            let print = lua.create_function(|lua, words: mlua::Variadic<mlua::Value>| {
                let words = words.iter().map(|word| lua.coerce_string(word.clone()));
                let words = words.map(|it| Ok(it?.map_or("?".into(), |it| it.to_string_lossy())));
                let words = words.collect::<mlua::Result<Vec<String>>>()?;
                // As a process has it that writes to its standard error.
                Ok(writeln!(std::io::stderr(), "{}", words.join("\t"))?)
            })?;
            lua.globals().set("print", print)?;
            let own = Sha256::digest(who.as_bytes());
            let own = own[..8]
                .iter()
                .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
            let random: Function = lua.globals().get::<Table>("math")?.get("randomseed")?;
            random.call::<()>((seed.cast_signed(), own.cast_signed()))?;
            let rows = || lua.create_table();
            Ok(Script {
                name: name.to_owned(),
                answer: None,
                counted,
                copy: lua.globals().get::<Table>("table")?.get("move")?,
                waiting: Mirror {
                    keys: Vec::new(),
                    rows: rows()?,
                },
                running: Mirror {
                    keys: Vec::new(),
                    rows: rows()?,
                },
                text,
                lua,
            })
        };
        made().map_err(|why| told(&why))
    }

    /// Its answer to a line of JSON, in JSON: the first is the greeting.
    ///
    /// # Errors
    /// Why there is none.
    pub fn ask(&mut self, line: &str) -> Result<String, String> {
        let message: Value = serde_json::from_str(line).map_err(|why| why.to_string())?;
        self.counted.store(0, Ordering::Relaxed);
        let answer = match self.answer.clone() {
            None => self.greet(&message),
            Some(choose) => self.choose(&choose, &message),
        };
        answer.map(|it| it.to_string()).map_err(|why| told(&why))
    }

    fn greet(&mut self, hello: &Value) -> mlua::Result<Value> {
        let protocol = hello["protocol"].as_str().unwrap_or_default();
        let asked = if protocol == wire::POLICY {
            "choose"
        } else {
            "schedule"
        };
        let globals = self.lua.globals();
        globals.set("hello", lua_of(&self.lua, hello)?)?;
        self.lua
            .load(&self.text)
            .set_name(format!("@{}", self.name))
            .exec()?;
        let function: Option<Function> = globals.get(asked)?;
        let none = || mlua::Error::runtime(format!("{}: there is no function {asked}", self.name));
        self.answer = Some(function.ok_or_else(none)?);
        let columns: Option<Vec<String>> = globals.get("columns")?;
        let answer = HelloAnswer {
            protocol: protocol.to_owned(),
            columns,
        };
        Ok(json!(answer))
    }

    fn choose(&self, choose: &Function, cycle: &Value) -> mlua::Result<Value> {
        let answers: Vec<mlua::Value> = choose.call(lua_of(&self.lua, cycle)?)?;
        let answers: Vec<Value> = answers.iter().map(answer).collect::<mlua::Result<_>>()?;
        Ok(json!({ "answers": answers }))
    }

    /// What it does in a pass.
    ///
    /// # Errors
    /// Why it does nothing.
    pub fn pass(&mut self, told_now: &Told<'_, '_>) -> Result<PassAnswer, String> {
        self.counted.store(0, Ordering::Relaxed);
        self.schedule(told_now).map_err(|why| told(&why))
    }

    fn schedule(
        &mut self,
        Told {
            number,
            outlook,
            running,
        }: &Told<'_, '_>,
    ) -> mlua::Result<PassAnswer> {
        let lua = &self.lua;
        let waiting = outlook.backlog.waiting_from(0);
        let waiting = waiting.map(|job| ((job.arrival, job.demand.length), job));
        self.waiting.update(waiting, |job: &Waiting| {
            let row = lua.create_table_with_capacity(0, 4)?;
            row.raw_set("job", job.job.0)?;
            row.raw_set("processors", job.demand.processors)?;
            row.raw_set("estimate_s", job.demand.length.as_secs_f64())?;
            row.raw_set("since_s", job.since.as_secs_f64())?;
            Ok(row)
        })?;
        let pass = lua.create_table_with_capacity(0, 5)?;
        pass.raw_set("pass", *number)?;
        pass.raw_set("now_s", outlook.now.as_secs_f64())?;
        pass.raw_set("free", outlook.nodes.free_processors())?;
        pass.raw_set("waiting", self.copied(&self.waiting)?)?;
        if *running {
            let runs = outlook.calendar.running().map(|it| (it.0, it));
            self.running.update(runs, |((end, job), processors)| {
                let row = lua.create_table_with_capacity(0, 3)?;
                row.raw_set("job", job.0)?;
                row.raw_set("processors", processors)?;
                row.raw_set("expected_end_s", end.as_secs_f64())?;
                Ok(row)
            })?;
            pass.raw_set("running", self.copied(&self.running)?)?;
        }
        let schedule = self.answer.as_ref().expect("it was greeted");
        let (start, wakeup_s): (Vec<u32>, Option<f64>) = schedule.call(pass)?;
        Ok(PassAnswer { start, wakeup_s })
    }

    /// A list of the program's own, which it may sort.
    fn copied<K>(&self, mirror: &Mirror<K>) -> mlua::Result<Table> {
        let count = mirror.keys.len();
        let copy = self.lua.create_table_with_capacity(count, 0)?;
        self.copy.call((&mirror.rows, 1, count, 1, copy))
    }
}

/// JSON as Lua has it; absent values are absent, not a value of their own.
fn lua_of(lua: &Lua, json: &Value) -> mlua::Result<mlua::Value> {
    match json {
        Value::Null => Ok(mlua::Value::Nil),
        Value::Bool(is) => is.into_lua(lua),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into_lua(lua),
            None => number.as_f64().into_lua(lua),
        },
        Value::String(text) => text.as_str().into_lua(lua),
        Value::Array(list) => {
            let list = list.iter().map(|item| lua_of(lua, item));
            list.collect::<mlua::Result<Vec<_>>>()?.into_lua(lua)
        }
        Value::Object(fields) => {
            let table = lua.create_table_with_capacity(0, fields.len())?;
            for (key, value) in fields {
                table.raw_set(key.as_str(), lua_of(lua, value)?)?;
            }
            table.into_lua(lua)
        }
    }
}

/// An answer as a process gives it: a position, a name, or what is to be rejected.
fn answer(answer: &mlua::Value) -> mlua::Result<Value> {
    Ok(match answer {
        mlua::Value::Integer(whole) => json!(whole),
        mlua::Value::String(text) => json!(text.to_string_lossy()),
        mlua::Value::Table(table) => json!({ "reject": table.get::<String>("reject")? }),
        other => json!(format!("{other:?}")),
    })
}

/// What went wrong, without the way there.
fn told(why: &mlua::Error) -> String {
    let text = why.to_string();
    let text = text.split("\nstack traceback").next().unwrap_or_default();
    text.trim().replace('\n', ": ")
}
