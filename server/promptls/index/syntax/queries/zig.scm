; Zig.

(Decl (FnProto function: (IDENTIFIER) @name) (Block) @body) @function
(VarDecl variable_type_function: (IDENTIFIER) @name (ErrorUnionExpr (SuffixExpr (ContainerDecl)))) @struct
(TestDecl (STRINGLITERALSINGLE) @name (Block) @body) @test
(source_file (Decl (VarDecl variable_type_function: (IDENTIFIER) @name) @variable))

(SuffixExpr (BUILTINIDENTIFIER) (FnCallArguments)) @import

(SuffixExpr variable_type_function: (IDENTIFIER) @call . (FnCallArguments))
(FieldOrFnCall function_call: (IDENTIFIER) @call)

(IfStatement) @fork
(ForStatement) @fork
(WhileStatement) @fork
(SwitchProng) @fork
