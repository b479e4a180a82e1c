import HearthJSONTree

/// The methods of snapshots (docs/rules.md 3.2) and strings (docs/rules.md 3.2).
private enum Method: String {
    case val
    case exists
    case child
    case parent
    case hasChild
    case hasChildren
    case isString
    case isNumber
    case isBoolean
    case getPriority

    case contains
    case beginsWith
    case endsWith
    case replace
    case toLowerCase
    case toUpperCase
    case matches

    var isOfSnapshots: Bool {
        switch self {
        case .val, .exists, .child, .parent, .hasChild, .hasChildren, .isString, .isNumber, .isBoolean, .getPriority:
            true
        default: false
        }
    }
}

/// A call without its checks: a target and a method.
private struct MethodCall {
    var method: Method
    var target: Int
    var arguments: [Syntax]
    var syntax: Syntax

    func mistake(_ text: String, at syntax: Syntax? = nil) -> Mistake {
        Mistake("\(method.rawValue)() \(text)", at: (syntax ?? self.syntax).start)
    }
}

extension Checker {
    // MARK: Members

    mutating func member(_ name: [UInt8], of target: Syntax, _ syntax: Syntax) throws(Mistake) -> Checked {
        let checked = try check(target)
        let text = String(decoding: name, as: UTF8.self)
        if try method(name, of: checked.type, syntax) != nil { return emit(.thing, .method, syntax) }
        switch checked.type {
        case .auth:
            return emit(.member(of: checked.instruction, name: code.string(name)), .auth, syntax)
        case .string where text == "length", .value where text == "length":
            return emit(.length(of: checked.instruction), .number, syntax)
        case .query:
            if QueryConditionBound(rawValue: text) != nil { return emit(.thing, .method, syntax) }
            guard let property = QueryProperty(rawValue: text) else { throw noSuchMember(text, syntax) }
            return emit(.query(property), property.type, syntax)
        default: throw noSuchMember(text, syntax)
        }
    }

    private func noSuchMember(_ name: String, _ syntax: Syntax) -> Mistake {
        Mistake("No such method/property '\(name)'.", at: syntax.start)
    }

    /// The method that a name means on a type; nil if it means a property, or nothing.
    private func method(_ name: [UInt8], of type: StaticType, _ syntax: Syntax) throws(Mistake) -> Method? {
        let method = Method(rawValue: String(decoding: name, as: UTF8.self))
        switch type {
        case .snapshot: return method.flatMap { $0.isOfSnapshots ? $0 : nil }
        case .string, .value, .auth: return method.flatMap { $0.isOfSnapshots ? nil : $0 }
        case .query: return nil
        default: throw Mistake("Invalid property access: target is not an object.", at: syntax.start)
        }
    }

    mutating func index(_ target: Syntax, _ index: Syntax, _ syntax: Syntax) throws(Mistake) -> Checked {
        let checked = try check(target)
        guard checked.type == .auth else { throw Mistake("Invalid property access.", at: syntax.start) }
        let place = try check(index)
        guard place.type.isOrdered else { throw Mistake("Invalid property access.", at: index.start) }
        return emit(.index(of: checked.instruction, place.instruction), .auth, syntax)
    }

    // MARK: Calls

    mutating func call(_ target: Syntax, _ arguments: [Syntax], _ syntax: Syntax) throws(Mistake) -> Checked {
        guard case .member(let object, let name) = target.form else {
            _ = try check(target)
            throw noFunction(syntax)
        }
        let checked = try check(object)
        if checked.type == .query, let bound = QueryConditionBound(rawValue: String(decoding: name, as: UTF8.self)) {
            return try condition(bound, arguments, syntax)
        }
        guard let method = try method(name, of: checked.type, target) else {
            _ = try member(name, of: object, target)
            throw noFunction(syntax)
        }
        return try emit(
            MethodCall(method: method, target: checked.instruction, arguments: arguments, syntax: syntax))
    }

    /// `query.where('path')`. Paths are literals, so that a mistake in one is found when the rules are loaded.
    private mutating func condition(
        _ bound: QueryConditionBound, _ arguments: [Syntax], _ syntax: Syntax
    ) throws(Mistake) -> Checked {
        guard arguments.count == 1, case .text(let utf8) = arguments[0].form else {
            throw Mistake("\(bound.rawValue)() expects the path of a condition, as a string literal.", at: syntax.start)
        }
        let path = utf8.elementsEqual(".value".utf8) ? [] : ChildPath.segments(of: utf8)
        guard let path else {
            throw Mistake("\(bound.rawValue)() expects a path below the child, or '.value'.", at: arguments[0].start)
        }
        usesConditions = true
        return emit(.condition(bound, path: code.segments(path)), .value, syntax)
    }

    private func noFunction(_ syntax: Syntax) -> Mistake {
        Mistake("Type error: Function call on target that is not a function.", at: syntax.start)
    }

    private mutating func emit(_ call: MethodCall) throws(Mistake) -> Checked {
        switch call.method {
        case .val: return try emitPlain(call, .value(of: call.target), .value)
        case .getPriority: return try emitPlain(call, .priority(of: call.target), .value)
        case .parent: return try emitPlain(call, .parent(of: call.target), .snapshot)
        case .exists: return try emitPlain(call, .test(.exists, of: call.target), .boolean)
        case .isString: return try emitPlain(call, .test(.isString, of: call.target), .boolean)
        case .isNumber: return try emitPlain(call, .test(.isNumber, of: call.target), .boolean)
        case .isBoolean: return try emitPlain(call, .test(.isBoolean, of: call.target), .boolean)
        case .toLowerCase: return try emitPlain(call, .lowercased(of: call.target), .string)
        case .toUpperCase: return try emitPlain(call, .uppercased(of: call.target), .string)
        case .child: return try emitChild(call)
        case .hasChild:
            let child = try emitChild(call)
            return emit(.test(.exists, of: child.instruction), .boolean, call.syntax)
        case .hasChildren: return try emitHasChildren(call)
        case .contains: return try emitTest(call, .contains)
        case .beginsWith: return try emitTest(call, .beginsWith)
        case .endsWith: return try emitTest(call, .endsWith)
        case .replace: return try emitReplace(call)
        case .matches: return try emitMatches(call)
        }
    }

    private mutating func emitPlain(
        _ call: MethodCall, _ instruction: Instruction, _ type: StaticType
    ) throws(Mistake) -> Checked {
        guard call.arguments.isEmpty else { throw call.mistake("expects no arguments.") }
        return emit(instruction, type, call.syntax)
    }

    /// The only argument, which must be a string.
    private mutating func textArgument(_ call: MethodCall) throws(Mistake) -> Int {
        guard call.arguments.count == 1 else { throw call.mistake("expects 1 argument.") }
        let checked = try check(call.arguments[0])
        guard checked.type.isTextual else {
            throw call.mistake("expects a string argument.", at: call.arguments[0])
        }
        return checked.instruction
    }

    private mutating func emitChild(_ call: MethodCall) throws(Mistake) -> Checked {
        if call.arguments.count == 1, case .text(let utf8) = call.arguments[0].form {
            let segments = code.segments(ChildPath.segments(of: utf8))
            return emit(.literalChild(of: call.target, segments: segments), .snapshot, call.syntax)
        }
        let path = try textArgument(call)
        return emit(.child(of: call.target, path), .snapshot, call.syntax)
    }

    private mutating func emitHasChildren(_ call: MethodCall) throws(Mistake) -> Checked {
        guard let argument = call.arguments.first else {
            return emit(.test(.hasChildren, of: call.target), .boolean, call.syntax)
        }
        guard call.arguments.count == 1 else {
            throw call.mistake("expects only a single argument (containing an array of child names).")
        }
        guard case .list(let names) = argument.form else {
            _ = try check(argument)
            throw call.mistake("expects an array of child names.", at: argument)
        }
        var texts: [Int] = []
        for name in names {
            let checked = try check(name)
            guard checked.type.isTextual else { throw call.mistake("expects an array of strings.", at: name) }
            texts.append(checked.instruction)
        }
        let first = code.list(texts)
        return emit(.hasChildren(of: call.target, first: first, count: texts.count), .boolean, call.syntax)
    }

    private mutating func emitTest(_ call: MethodCall, _ test: TextTest) throws(Mistake) -> Checked {
        let argument = try textArgument(call)
        return emit(.textTest(test, of: call.target, argument), .boolean, call.syntax)
    }

    private mutating func emitReplace(_ call: MethodCall) throws(Mistake) -> Checked {
        guard call.arguments.count == 2 else { throw call.mistake("expects two arguments.") }
        var arguments: [Int] = []
        for (number, argument) in call.arguments.enumerated() {
            let checked = try check(argument)
            guard checked.type.isTextual else {
                throw Mistake("Argument \(number + 1) of replace() must be a string.", at: argument.start)
            }
            arguments.append(checked.instruction)
        }
        return emit(.replace(of: call.target, arguments[0], arguments[1]), .string, call.syntax)
    }

    private mutating func emitMatches(_ call: MethodCall) throws(Mistake) -> Checked {
        guard call.arguments.count == 1 else { throw call.mistake("expects 1 regular expression literal argument.") }
        guard case .pattern(let pattern) = call.arguments[0].form else {
            _ = try check(call.arguments[0])
            throw call.mistake("expects a regular expression literal argument.", at: call.arguments[0])
        }
        return emit(.matches(of: call.target, pattern: code.pattern(pattern)), .boolean, call.syntax)
    }
}
