//! A program in Lua: without files, processes or network, and bounded.

use super::wire::{self, PassAnswer};
use gridrig_core::discipline::Outlook;
use gridrig_core::ids::JobId;
use gridrig_core::plan::Waiting;
use gridrig_core::time::{SimDuration, SimTime};
use mlua::state::{GcGenParams, GcMode};
use mlua::{
    Function, HookTriggers, IntoLua as _, IntoLuaMulti, Lua, LuaOptions, StdLib, Table, VmState,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::VecDeque;
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
local next, type, sort, move, setmetatable, getmetatable, ipairs, rawget, error =
    next, type, table.sort, table.move, setmetatable, getmetatable, ipairs, rawget, error
local function before(a, b)
    local x, y = type(a), type(b)
    if x ~= y then return x < y end
    return a < b
end
function pairs(t)
    local meta = getmetatable(t)
    if meta and meta.__pairs then return meta.__pairs(t) end
    local keys, at = {}, 0
    for key in next, t do keys[#keys + 1] = key end
    sort(keys, before)
    return function()
        at = at + 1
        if keys[at] ~= nil then return keys[at], t[keys[at]] end
    end
end
-- A list that is kept from pass to pass: of thousands that wait, mostly the first are asked
-- for. What a program gets reads it, and is a copy from its first change or ninth place on.
local function list()
    local rows, first, count, view = {}, 1, 0, {}
    local function copy(t)
        setmetatable(t, nil)
        return move(rows, first, first + count - 1, 1, t)
    end
    function view.__index(t, at)
        if at == 1 then return rows[first] end
        if type(at) == "number" and at >= 1 and at <= count then
            if at > 8 then return copy(t)[at] end
            return rows[first + at - 1]
        end
    end
    function view.__len() return count end
    function view.__newindex(t, key, value) copy(t)[key] = value end
    view.__pairs = ipairs
    local function insert(at, row)
        local place = first + at
        if at < count then move(rows, place, first + count - 1, place + 1) end
        rows[place], count = row, count + 1
    end
    local function remove(at)
        -- Who leaves is mostly near the beginning: those before it move up.
        if at > 0 then move(rows, first, first + at - 1, first + 1) end
        rows[first] = nil
        first, count = first + 1, count - 1
    end
    return insert, remove, function() return setmetatable({}, view) end
end
function lists()
    local add_waiting, remove_waiting, waiting = list()
    local add_running, remove_running, running = list()
    local function wait(at, job, processors, estimate_s, since_s)
        add_waiting(at, {
            job = job, processors = processors, estimate_s = estimate_s, since_s = since_s,
        })
    end
    local function run(at, job, processors, expected_end_s)
        add_running(at, { job = job, processors = processors, expected_end_s = expected_end_s })
    end
    local function pass(schedule, number, now_s, free, has_running)
        return schedule({
            pass = number, now_s = now_s, free = free, waiting = waiting(),
            running = has_running and running() or nil,
        })
    end
    return wait, remove_waiting, run, remove_running, pass
end
-- An error ends the program, and no instruction of it goes uncounted: a finalizer's would.
local bare = setmetatable
function _G.setmetatable(t, meta)
    if type(meta) == "table" and rawget(meta, "__gc") ~= nil then error("there is no __gc", 2) end
    return bare(t, meta)
end
for _, name in ipairs({
    "next", "load", "loadfile", "dofile", "require", "collectgarbage", "pcall", "xpcall",
}) do
    _G[name] = nil
end
string.dump = nil
"#;

/// A program in Lua.
pub struct Script {
    lua: Lua,
    name: String,
    text: String,
    /// What is asked each time: `choose` or `schedule`, once it has been greeted.
    answer: Option<Function>,
    counted: Arc<AtomicU32>,
    /// Asks the program about a pass.
    pass: Function,
    waiting: Mirror<(u64, SimDuration)>,
    running: Mirror<(SimTime, JobId)>,
    /// What the backlog said of jobs that have left or come back otherwise.
    reshuffled: u64,
}

/// Which jobs Lua has in a list that is kept from pass to pass.
struct Mirror<K> {
    keys: VecDeque<K>,
    add: Function,
    remove: Function,
}

impl<K: Copy + Ord> Mirror<K> {
    fn new(add: Function, remove: Function) -> Self {
        let keys = VecDeque::new();
        Mirror { keys, add, remove }
    }

    /// Makes it those of now, sorted by their keys, each with its fields.
    fn update<F: IntoLuaMulti>(&mut self, now: impl Iterator<Item = (K, F)>) -> mlua::Result<()> {
        let mut at = 0;
        for (key, fields) in now {
            while self.keys.get(at).is_some_and(|known| *known < key) {
                self.remove(at)?;
            }
            if self.keys.get(at) != Some(&key) {
                self.insert(at, key, fields)?;
            }
            at += 1;
        }
        while at < self.keys.len() {
            self.remove(self.keys.len() - 1)?;
        }
        Ok(())
    }

    fn insert<F: IntoLuaMulti>(&mut self, at: usize, key: K, fields: F) -> mlua::Result<()> {
        self.keys.insert(at, key);
        self.add.call((at, fields))
    }

    fn remove(&mut self, at: usize) -> mlua::Result<()> {
        self.keys.remove(at);
        self.remove.call(at)
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
            // What a pass leaves behind is short-lived.
            lua.gc_set_mode(GcMode::Generational(GcGenParams::default()));
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
            let own = own.first_chunk().map_or(0, |own| i64::from_be_bytes(*own));
            let random: Function = lua.globals().get::<Table>("math")?.get("randomseed")?;
            random.call::<()>((seed.cast_signed(), own))?;
            let lists: Function = lua.globals().get("lists")?;
            let (wait, waits_no_more, run, runs_no_more, pass) = lists.call(())?;
            lua.globals().set("lists", mlua::Value::Nil)?;
            Ok(Script {
                name: name.to_owned(),
                answer: None,
                counted,
                waiting: Mirror::new(wait, waits_no_more),
                running: Mirror::new(run, runs_no_more),
                pass,
                reshuffled: 0,
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
        let asked = match protocol {
            wire::POLICY => "choose",
            _ => "schedule",
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
        Ok(json!({ "protocol": protocol, "columns": columns }))
    }

    fn choose(&self, choose: &Function, cycle: &Value) -> mlua::Result<Value> {
        let answers: Vec<mlua::Value> = choose.call(lua_of(&self.lua, cycle)?)?;
        let answers: Vec<Value> = answers.iter().map(answer).collect::<mlua::Result<_>>()?;
        Ok(json!({ "answers": answers }))
    }

    /// What it does in the pass of this number, in which it is told who runs if it wants to
    /// know; `started` are those that waited in the last pass and have started since.
    ///
    /// # Errors
    /// Why it does nothing.
    pub fn pass(
        &mut self,
        outlook: &Outlook<'_>,
        (number, running): (u64, bool),
        started: &[u64],
    ) -> mlua::Result<PassAnswer> {
        self.counted.store(0, Ordering::Relaxed);
        let backlog = outlook.backlog;
        let key = |job: &Waiting| (job.arrival, job.demand.length);
        let fields = |job: &Waiting| {
            let [estimate_s, since_s] = [job.demand.length.as_secs_f64(), job.since.as_secs_f64()];
            (job.job.0, job.demand.processors, estimate_s, since_s)
        };
        // Mostly some have started, of those that were named last, and others have come.
        let waiting = &mut self.waiting;
        for arrival in started {
            let at = waiting.keys.binary_search_by_key(arrival, |known| known.0);
            at.map_or(Ok(()), |at| waiting.remove(at))?;
        }
        let next = waiting.keys.back().map_or(0, |last| last.0 + 1);
        for job in backlog.waiting_from(next) {
            waiting.insert(waiting.keys.len(), key(job), fields(job))?;
        }
        let others = std::mem::replace(&mut self.reshuffled, backlog.reshuffled());
        if waiting.keys.len() != backlog.waiting() || others != self.reshuffled {
            let now = backlog.waiting_from(0);
            waiting.update(now.map(|job| (key(job), fields(job))))?;
        }
        if running {
            let runs = outlook.calendar.running();
            let runs = runs.map(|((end, job), processors)| {
                ((end, job), (job.0, processors, end.as_secs_f64()))
            });
            self.running.update(runs)?;
        }
        let schedule = self.answer.as_ref().expect("it was greeted");
        let (now_s, free) = (outlook.now.as_secs_f64(), outlook.nodes.free_processors());
        let asked = (schedule, number, now_s, free, running);
        let (start, wakeup_s): (Vec<u32>, Option<f64>) = self.pass.call(asked)?;
        Ok(PassAnswer { start, wakeup_s })
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
pub(super) fn told(why: &mlua::Error) -> String {
    let text = why.to_string();
    let text = text.split("\nstack traceback").next().unwrap_or_default();
    text.trim().replace('\n', ": ")
}
