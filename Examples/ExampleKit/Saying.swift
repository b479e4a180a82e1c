@preconcurrency import Glibc
public import HearthExampleTerminal

/// Prints a line, in which nothing steers the terminal, no matter who wrote it. All that commands print is printed so.
public func say(_ line: Line) { print(line.text) }

/// Prints lines with their numbers, from 1.
public func say(numbered lines: [Line]) {
    for (index, line) in lines.enumerated() { say("\(index + 1)  \(line.text)") }
}

/// Prints an error to standard error, filtered like ``say(_:)``.
public func complain(_ line: Line) { fputs(line.text + "\n", stderr) }
