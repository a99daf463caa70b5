; Pascal.

(unit (moduleName) @name) @module
(program (moduleName) @name) @module
(library (moduleName) @name) @module
(defProc header: (declProc name: (_) @name) local: (_)? @body body: (_) @body) @function
(interface (declProc name: (_) @name) @function)
(declSection (declProc name: (_) @name) @method)
(declClass (declProc name: (_) @name) @method)
(declIntf (declProc name: (_) @name) @method)
(declType name: (_) @name type: (declClass (kClass))) @class
(declType name: (_) @name type: (declClass (kRecord))) @struct
(declType name: (_) @name type: (declIntf)) @interface
(declType name: (_) @name) @type
(declConst name: (_) @name) @constant
(exprCall entity: (identifier) @call)
(statement (identifier) @call)
(assignment rhs: (identifier) @call)
(exprBinary (identifier) @call)
(exprArgs (identifier) @call)
(exprDot rhs: (identifier) @call)
