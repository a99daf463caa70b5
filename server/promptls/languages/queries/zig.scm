; Zig.

(Decl (FnProto function: (IDENTIFIER) @name) (Block)? @body) @function
(VarDecl variable_type_function: (IDENTIFIER) @name (ErrorUnionExpr (SuffixExpr (ContainerDecl)))) @struct
(TestDecl (STRINGLITERALSINGLE) @name (Block) @body) @test
(source_file (Decl (VarDecl variable_type_function: (IDENTIFIER) @name) @variable))

(VarDecl variable_type_function: (IDENTIFIER) (ErrorUnionExpr (SuffixExpr . (BUILTINIDENTIFIER) (FnCallArguments)))) @import
(SuffixExpr (BUILTINIDENTIFIER) (FnCallArguments)) @import
(ParamDecl parameter: (IDENTIFIER)) @typed
(ContainerField field_member: (IDENTIFIER) @typed)
(VarDecl variable_type_function: (IDENTIFIER)) @typed

(SuffixExpr variable_type_function: (IDENTIFIER) @call . (FnCallArguments))
(FieldOrFnCall function_call: (IDENTIFIER) @call)

(IfStatement) @branch
(ForStatement) @branch
(WhileStatement) @branch
(SwitchProng) @branch
