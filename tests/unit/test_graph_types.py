"""Declared types of variables: locals, parameters, fields, properties and function results.

In each sample every call of `start` is a call of Engine.start.  The workspace also contains a copy of the sample with
Engine renamed to Rival, so that the name `start` is not unique.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphkit import view_of

SAMPLES = {
    "a.py": """
class Engine:
    def start(self): ...
    def twin(self) -> Engine: ...

def make() -> Engine: ...

class Car:
    third: Engine

    def __init__(self, other: Engine):
        self.engine = Engine()
        self.other = other

    def drive(self, given: Engine | None):
        local, made = Engine(), make()
        twin = Engine().twin().twin()
        twin.start()
        mine = Engine()
        mine.start()
        given.start()
        make().start()
        self.engine.start()
        self.other.start()
        self.third.start()
""",
    "a.ts": """
class Engine {
  start() {}
}

function make(): Engine { return new Engine(); }

class Car {
  private engine = new Engine();
  private other: Engine | null;
  constructor(private third: Engine) {}

  drive(given: Engine) {
    const local = new Engine();
    const made = make();
    local.start();
    made.start();
    given.start();
    this.engine.start();
    this.other?.start();
    this.third.start();
  }

  tow<T>(self: Engine, both: T & Engine) {
    self.start();
    both.start();
  }
}
""",
    "a.kt": """
package x

class Engine {
    fun start() {}
    class Builder {
        fun with(a: Int): Builder = this
        fun build(): Engine = Engine()
    }
}

fun make(): Engine = Engine()

class Car(private val fourth: Engine) {
    private val engine = Engine()
    private val other: Engine = make()
    @Inject lateinit var third: Engine
    protected open val fifth: Engine?
    @get:JvmName("six") // as Java calls it
    override inline val sixth: Engine get() = engine

    fun drive(given: Engine) {
        val local = Engine().apply { given.start() }
        val made = make()
        val built = Engine.Builder()
            .with(1)
            .build()
        built.start()
        local.start()
        made.start()
        given.start()
        engine.start()
        other.start()
        third.start()
        fourth.start()
        fifth?.start()
        sixth.start()
        this.engine.start()
    }
}
""",
    "a.cs": """
class Engine {
    public void start() {}
    public static Engine make() { return new Engine(); }
}

class Car(Engine fourth) {
    private Engine engine = new Engine();
    private Engine Other { get; } = Engine.make();
    public Engine Third { get; set; }
    public Engine Fifth => Third;
    public static Engine[] Unused = [];
    public static Engine Shared { get; } = Engine.make();

    void drive(Engine given) {
        var local = new Engine();
        var made = Engine.make();
        local.start();
        made.start();
        given.start();
        engine.start();
        Other.start();
        Third.start();
        fourth.start();
        Fifth.start();
        this.Third.start();
        Car.Shared.start();
    }
}
""",
    "a.php": """
<?php
class Engine {
    public function start() {}
    public static function make(): Engine { return new Engine(); }
}

class Car {
    private Engine $engine;
    private ?Engine $fourth = null;
    private $other;

    public function __construct(private Engine $third) {
        $this->other = new Engine();
    }

    public function drive(Engine $given) {
        $local = new Engine();
        $local->start();
        $given->start();
        $this->engine->start();
        $this->other->start();
        $this->third->start();
        $this->fourth?->start();
    }
}
""",
    "a.java": """
class Engine {
    void start() {}
    static Engine make() { return new Engine(); }
}

class Car {
    private final Engine engine = new Engine();
    protected Engine other;
    @Inject private Engine third = Engine.make();

    void drive(Engine given) {
        var local = new Engine();
        final var made = Engine.make();
        local.start();
        made.start();
        given.start();
        engine.start();
        other.start();
        this.third.start();
    }
}
""",
    "a.cpp": """
class Engine {
public:
    void start() {}
};

class Car {
    Engine engine;
    Engine* other;
    std::unique_ptr<Engine> third;
    std::shared_ptr<const Engine> fourth;

    void drive(Engine& given) {
        Engine local;
        auto made = std::make_unique<Engine>();
        local.start();
        made->start();
        given.start();
        engine.start();
        other->start();
        third->start();
        fourth->start();
    }
};
""",
    "a.rs": """
struct Engine;

impl Engine {
    fn new() -> Self { Engine }
    fn start(&self) {}
    fn twin(&self) -> Result<Self, Error> { Ok(Engine) }
}

struct Car {
    engine: Engine,
    other: Box<Engine>,
    third: Option<Engine>,
}

impl Car {
    fn drive(&self, given: &Engine) {
        let local = Engine::new();
        let twin = Engine::new().twin().unwrap();
        let tried = given.twin()?;
        local.start();
        twin.start();
        tried.start();
        given.start();
        self.third.as_ref().unwrap().start();
        self.engine.start();
        self.other.start();
    }
}
""",
    "a.go": """
package x

type Engine struct{}

func (e *Engine) start() {}

func make_() *Engine { return &Engine{} }

type Car struct {
	engine Engine
	other  *Engine
}

func (c *Car) drive(given *Engine) {
	local := &Engine{}
	made := make_()
	local.start()
	made.start()
	given.start()
	c.engine.start()
	c.other.start()
}
""",
    "a.rb": """
class Engine
  def start; end
end

class Car
  def initialize
    @engine = Engine.new
  end

  def drive
    local = Engine.new
    local.start
    @engine.start
  end
end
""",
}

SAMPLES |= {
    "d.js": """
class Engine {
  start() {}
  /** @returns {Engine} another */
  twin() { return this; }
}

class Car {
  /** @type {Engine} */
  second = null;

  /**
   * @param {Engine | null} first the first
   */
  constructor(first) {
    this.first = first;
    /** @type {Engine} */
    this.third = first.copy();
  }

  /**
   * @param {Engine=} given
   * @param {Car} car another
   */
  drive(given, car) {
    const { first, second: other } = this;
    const third = car.third;
    const cast = /** @type {Engine} */ (car.unknown);
    const twin = given.twin();
    given.start();
    twin.start();
    this.first.start();
    this.second.start();
    this.third.start();
    first.start();
    other.start();
    third.start();
    cast.start();
  }
}
""",
}
"""The samples named d.* declare types in documentation comments."""


def resolved_calls(file: str, text: str, top: Path) -> tuple[list[str], list[str]]:
    """Return the lines of Car that call `start`, and those that resolve to Engine.start."""
    text = text.lstrip("\n")
    rival = text.replace("Engine", "Rival").replace("Car", "Bus").replace("make", "build")
    view = view_of(f"-- {file} --\n{text}-- z{file} --\n{rival}", top)
    path = next(p for p in view.snapshot.files if p.endswith(f"/{file}"))
    symbols = view.resolver.file_symbols(path)
    assert symbols is not None
    lines = text.split("\n")
    called, found = [], []
    for owner, use in symbols.references_named("start"):
        line = lines[use.line].strip()
        called.append(line)
        targets = [view.symbol(one.ref) for one in view.resolver.resolve(path, owner, use)]
        if [t.qualified for t in targets if t is not None] == ["Engine.start"]:
            found.append(line)
    return called, found


@pytest.mark.parametrize("file", list(SAMPLES))
def test_variables_have_their_declared_type(tmp_path: Path, file: str) -> None:
    called, found = resolved_calls(file, SAMPLES[file], tmp_path)
    written = [line.strip() for line in SAMPLES[file].splitlines() if re.search(r"(?:\.|->|::)start\b", line)]
    assert called == written
    assert found == called
