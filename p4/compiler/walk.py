"""Walk expressions and statements: the parts, the fields that are read, the statements within."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from jumpgate.p4.compiler import ir

#: what parser_err says of them
PARSER_ERROR_NO_MATCH, PARSER_ERROR_PARTIAL_HDR = 1, 2

#: parts of a condition that stands in the place of its name
CONDITION_MAX = 64

# ---- expressions ----


def parts(e: ir.Expr) -> tuple[ir.Expr, ...]:
    match e:
        case ir.Unary() | ir.Slice() | ir.Cast() | ir.Approximation():
            return (e.operand,)
        case ir.Binary():
            return (e.left, e.right)
        case ir.Mux():
            return (e.condition, e.yes, e.no)
        case ir.Hash():
            return e.inputs
    return ()


def every(e: ir.Expr) -> Iterator[ir.Expr]:
    """The expression and all in it."""
    yield e
    for part in parts(e):
        yield from every(part)


def gets(e: ir.Expr) -> list[ir.Slot]:
    return [x.slot for x in every(e) if isinstance(x, ir.Get)]


def replaced(e: ir.Expr, swap: Callable[[ir.Slot], ir.Expr]) -> ir.Expr:
    """The expression with something else in the place of each field."""
    match e:
        case ir.Get():
            return swap(e.slot)
        case ir.Unary():
            return ir.Unary(e.op, replaced(e.operand, swap), e.type)
        case ir.Binary():
            return ir.Binary(e.op, replaced(e.left, swap), replaced(e.right, swap), e.type)
        case ir.Slice():
            return ir.Slice(replaced(e.operand, swap), e.high, e.low)
        case ir.Cast():
            return ir.Cast(replaced(e.operand, swap), e.type)
        case ir.Approximation():
            return ir.Approximation(e.unit, replaced(e.operand, swap), e.type)
        case ir.Mux():
            return ir.Mux(replaced(e.condition, swap), replaced(e.yes, swap), replaced(e.no, swap))
        case ir.Hash():
            return ir.Hash(e.algorithm, tuple(replaced(i, swap) for i in e.inputs), e.type)
    return e


# ---- statements ----


def conditions_inlined(
    body: Sequence[ir.Stmt], known: Mapping[ir.Slot, ir.Expr] = MappingProxyType({})
) -> tuple[ir.Stmt, ...]:
    """The statements with conditions in the place of the bool variables that hold them, where nothing they read has
    changed since. `known`: those that hold at first."""
    held, out = dict(known), list[ir.Stmt]()

    def value(e: ir.Expr) -> ir.Expr:
        return replaced(e, lambda slot: held.get(slot, ir.Get(slot)))

    for s in body:
        match s:
            case ir.Set():
                s = ir.Set(s.slot, value(s.value), s.position)
            case ir.If():
                then, otherwise = (conditions_inlined(b, held) for b in (s.then, s.otherwise))
                s = ir.If(value(s.condition), then, otherwise, s.position)
            case ir.Scope():
                s = ir.Scope(s.label, conditions_inlined(s.body, held), s.is_call)
        out.append(s)
        written = {x.slot for x in walk((s,)) if isinstance(x, ir.Set)}
        held = {k: e for k, e in held.items() if k not in written and written.isdisjoint(gets(e))}
        if isinstance(s, ir.Set) and s.slot.type.boolean and s.slot not in gets(s.value) and _is_small(s.value):
            held[s.slot] = s.value
    return tuple(out)


def calls_inlined(body: Sequence[ir.Stmt]) -> tuple[ir.Stmt, ...]:
    """The statements with the bodies of called actions in their place, where nothing leaves them."""
    out = list[ir.Stmt]()
    for s in body:
        match s:
            case ir.If():
                out.append(ir.If(s.condition, calls_inlined(s.then), calls_inlined(s.otherwise), s.position))
            case ir.Scope():
                inner = calls_inlined(s.body)
                out += inner if s.is_call and not leaves(inner, s.label) else [ir.Scope(s.label, inner)]
            case _:
                out.append(s)
    return tuple(out)


def _is_small(e: ir.Expr) -> bool:
    return sum(1 for _ in itertools.islice(every(e), CONDITION_MAX + 1)) <= CONDITION_MAX


def walk(body: Sequence[ir.Stmt], registers: bool = True) -> Iterator[ir.Stmt]:
    """All statements in there, nested ones too, those of RegisterActions if `registers`; tables' actions are not."""
    for s in body:
        yield s
        if isinstance(s, ir.If):
            yield from walk((*s.then, *s.otherwise), registers)
        elif isinstance(s, ir.Scope) or (registers and isinstance(s, ir.Execute)):
            yield from walk(s.body, registers)


def expressions(s: ir.Stmt) -> tuple[ir.Expr, ...]:
    """Yield the expressions that a statement itself reads, without the statements in it."""
    match s:
        case ir.Set():
            return (s.value,)
        case ir.If():
            return (s.condition,)
        case ir.Execute():
            return (s.index,)
        case ir.Count():
            return (s.index,) if s.adjust is None else (s.index, s.adjust)
        case ir.Measure():
            return tuple(e for e in (s.index, s.before, s.adjust) if e is not None)
        case ir.Mirror():
            return (s.session, *s.fields)
        case ir.Resubmit() | ir.Digest():
            return s.fields
    return ()


def applied(program: ir.Program, body: Sequence[ir.Stmt]) -> Iterator[ir.Stmt]:
    """All statements in there, and those of the actions of the tables that they apply."""
    for s in walk(body):
        yield s
        if isinstance(s, ir.Apply):
            for action in program.tables[s.table].actions:
                yield from applied(program, action.body)


def reads(program: ir.Program, body: Sequence[ir.Stmt]) -> Iterator[ir.Slot]:
    """Fields that statements read, with those of the tables that they apply."""
    for s in applied(program, body):
        keys = program.tables[s.table].keys if isinstance(s, ir.Apply) else ()
        for e in (*expressions(s), *(key.value for key in keys)):
            yield from gets(e)
        if isinstance(s, ir.Emit):
            yield from s.fields


def parser_errors(program: ir.Program, gress: ir.Gress) -> ir.Slot | None:
    """The field parser_err, if the program looks at it: then packets that its parser refused go on."""
    errors = gress.intrinsic.get((f"{gress.name}_intrinsic_metadata_from_parser_t", "parser_err"))
    return errors if errors and errors in reads(program, (*gress.control, *gress.deparser)) else None


def external(body: Sequence[ir.Stmt], local: Iterable[ir.Slot]) -> list[ir.Slot]:
    """Fields of the packet that a RegisterAction reads, in order."""
    known = set(local)
    found: dict[ir.Slot, None] = {}
    for s in walk(body):
        for e in expressions(s):
            found.update(dict.fromkeys(x for x in gets(e) if x not in known))
        if isinstance(s, ir.Set):
            known.add(s.slot)
    return list(found)


def leaves(body: Sequence[ir.Stmt], label: int | None = None) -> bool:
    """Does something in there leave, to that label if one is given?"""
    return any(isinstance(s, ir.Leave) and label in (None, s.label) for s in walk(body))
